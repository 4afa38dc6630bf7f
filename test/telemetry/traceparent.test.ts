import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  isSampled,
  packedOf,
  putTraceId,
  spanIdOf,
  traced,
  traceFields,
  traceIdOf,
  traceparentIn,
  traceparentOf,
} from '#telemetry/tracer';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const CONTEXT = `00-${TRACE_ID}-${SPAN_ID}-01`;

const header = suite('a traceparent from outside');

header('is accepted in the format of W3C Trace Context', () => {
  assert.is(traceparentIn(CONTEXT), CONTEXT);
  assert.is(traceIdOf(CONTEXT), TRACE_ID);
  assert.is(spanIdOf(CONTEXT), SPAN_ID);
});

header('is read up to its known fields if it has a later version', () => {
  assert.is(traceparentIn(`cc-${TRACE_ID}-${SPAN_ID}-01-what-comes`), CONTEXT);
  assert.is(traceparentIn(`cc-${TRACE_ID}-${SPAN_ID}-01`), CONTEXT);
});

for (const [what, text] of [
  ['missing', undefined],
  ['an empty text', ''],
  ['in another format', 'b3: 1'],
  ['of the invalid version ff', `ff-${TRACE_ID}-${SPAN_ID}-01`],
  ['in capitals', CONTEXT.toUpperCase()],
  ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
  ['with a span id of zeros', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
  ['longer than this version allows', `${CONTEXT}-more`],
  ['of a later version without its hyphen', `cc-${TRACE_ID}-${SPAN_ID}-01x`],
  ['a list of two headers', `${CONTEXT}, ${CONTEXT}`],
  ['followed by a line break', `${CONTEXT}\n`],
] as const) {
  header(`is rejected if it is ${what}`, () => assert.is(traceparentIn(text), undefined));
}

header('is rejected if any character is not a hex digit or hyphen in its place', () => {
  for (let at = 0; at < CONTEXT.length; at += 1) {
    for (const wrong of ['/', ':', '`', 'g', 'A', ' ', CONTEXT[at] === '-' ? '0' : '-']) {
      const text = CONTEXT.slice(0, at) + wrong + CONTEXT.slice(at + 1);
      assert.is(traceparentIn(text), undefined, text);
    }
  }
  for (const digit of '0123456789abcdef') {
    const text = `00-${digit.repeat(31)}1-${digit.repeat(15)}1-${digit.repeat(2)}`;
    assert.is(traceparentIn(text), text);
    assert.is(isSampled(text), Number.parseInt(digit, 16) % 2 === 1, text);
  }
});

header('marks a recorded trace by its last bit, whatever the other flags', () => {
  for (const [flags, expected] of [
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
    ['fe', false],
    ['ff', true],
  ] as const) {
    assert.is(isSampled(`00-${TRACE_ID}-${SPAN_ID}-${flags}`), expected, flags);
  }
  assert.is(traceparentOf(TRACE_ID, SPAN_ID, true), CONTEXT);
});

header('is added to a message, if there is a traceparent', () => {
  assert.equal(traced({ n: 1 }, CONTEXT), { n: 1, traceparent: CONTEXT });
  assert.equal(traced({ n: 1 }, undefined), { n: 1 });
  assert.equal(traceFields(CONTEXT), { trace_id: TRACE_ID, span_id: SPAN_ID });
  assert.equal(traceFields(undefined), {});
});

const packed = suite('a packed trace context');

/** Ids with the smallest and largest bytes. */
const IDS = [TRACE_ID, 'f'.repeat(32), `${'0'.repeat(24)}80000001`, `7fffffff${'0'.repeat(24)}`];

function packedFrom(text: string): string {
  const bytes = new Uint8Array(16);
  putTraceId(text, bytes);
  return packedOf(bytes);
}

packed('contains all digits of the trace id, also if a process packs it again', () => {
  for (const traceId of IDS) {
    const short = packedFrom(traceparentOf(traceId, SPAN_ID, false));
    assert.is(traceIdOf(short), traceId);
    assert.is(traceIdOf(packedFrom(short)), traceId);
  }
});

packed('is unrecorded, and gives log lines only the trace id', () => {
  const short = packedFrom(CONTEXT);
  assert.is(isSampled(short), false);
  assert.equal(traceFields(short), { trace_id: TRACE_ID });
});

for (const group of [header, packed]) group.run();
