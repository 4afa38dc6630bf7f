import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_TARGETS } from '#identity/modes';
import {
  assertRefused,
  limitOf,
  MORNING_MS,
  observationAt,
  sharedScene,
} from '#test/support/calls/scene';
import { assertServed, ModelReplay } from '#test/support/model-replay';

const { caller, newCaller } = await sharedScene();
const send = (id: string, json: unknown, headers: Record<string, string> = {}) =>
  caller.send('POST', `/instances/${id}/process`, { json, headers });
const historyOf = async (id: string) =>
  (await caller.send('GET', `/instances/${id}/history`)).body.data;
const secondsAhead = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

const accepted = suite('an observation');

accepted('is answered 200 with snapshot, contract and drift of the model', async () => {
  const id = await caller.createInstance();
  const replay = new ModelReplay(MORNING_MS);
  const seen = { mode_target: 'ORDER', signal_strength: 0.7, confidence: 0.9 };
  const answer = await send(id, { ...seen, context: { a: 1 }, timestamp: '2026-01-15T08:00:00Z' });
  replay.observe(seen, MORNING_MS);
  assert.is(answer.status, 200);
  assert.equal(Object.keys(answer.body.data), ['snapshot', 'contract', 'drift']);
  assert.is(answer.body.data.snapshot.instance_id, id);
  assert.is(answer.body.data.snapshot.cycle, 1);
  assertServed(answer.body.data, replay.expected(), ['instance_id', 'description']);
  assert.match(answer.headers.get('etag') ?? '', /^"snap_[0-9a-f]{16}"$/);
});

accepted('of every mode is answered 200 and recorded under its name', async () => {
  const id = await caller.createInstance();
  for (const [index, mode_target] of MODE_TARGETS.entries()) {
    await caller.process(id, observationAt(index, { mode_target }));
  }
  const names = (await historyOf(id)).map((row: { mode_target: string }) => row.mode_target);
  assert.equal(names, MODE_TARGETS.toReversed());
});

accepted('with only mode and signal has confidence 1 and an empty context', async () => {
  const id = await caller.createInstance();
  await caller.process(id, { mode_target: 'IDENTITY', signal_strength: 0.5 });
  const [record] = await historyOf(id);
  assert.is(record.confidence, 1);
  assert.equal(record.context, {});
  assert.ok(Math.abs(Date.parse(record.timestamp) - Date.now()) < 5_000);
});

accepted('at both bounds of signal and confidence is answered 200', async () => {
  const id = await caller.createInstance();
  const bounds = [0, 1].flatMap((signal) => [0, 1].map((confidence) => ({ signal, confidence })));
  for (const [index, { signal, confidence }] of bounds.entries()) {
    await caller.process(id, observationAt(index, { signal_strength: signal, confidence }));
  }
  assert.is((await historyOf(id)).length, 4);
});

accepted('costs one request and one cycle', async () => {
  const id = await caller.createInstance();
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await send(id, observationAt(0));
  assert.is(limitOf(after, 'remaining'), limitOf(before, 'remaining') - 1);
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly') - 1);
});

accepted('keeps its context exactly', async () => {
  const id = await caller.createInstance();
  const context = {
    text: 'é😀"\\\n ',
    deep: [[[{ a: [null, true, 1.5e-7, -0.1] }]]],
    '': 0,
    constructor: 'a word like any other',
  };
  await caller.process(id, observationAt(0, { context }));
  assert.equal((await historyOf(id))[0].context, context);
});

accepted('with a context of 16 levels or 8,192 bytes is answered 200', async () => {
  const id = await caller.createInstance();
  const deep = JSON.parse(`${'{"a":'.repeat(15)}{}${'}'.repeat(15)}`);
  await caller.process(id, observationAt(0, { context: deep }));
  const wide = { a: 'x'.repeat(8_192 - '{"a":""}'.length) };
  await caller.process(id, observationAt(1, { context: wide }));
  const accented = { a: 'é'.repeat(4_092) };
  await caller.process(id, observationAt(2, { context: accented }));
});

accepted('in a body of exactly 32 KiB is answered 200', async () => {
  const id = await caller.createInstance();
  const body = JSON.stringify(observationAt(0)).padEnd(32 * 1_024);
  const answer = await caller.send('POST', `/instances/${id}/process`, { body });
  assert.is(answer.status, 200);
});

accepted('with a timestamp 295 s in the future is answered 200', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0, { timestamp: secondsAhead(295) }));
});

accepted('is recorded in UTC to the millisecond, whatever its offset and digits', async () => {
  const written: Record<string, string> = {
    '2026-01-15T08:00:00Z': '2026-01-15T08:00:00.000Z',
    '2026-01-15T10:00:10.5+02:00': '2026-01-15T08:00:10.500Z',
    '2026-01-14T22:30:20.123999999-09:30': '2026-01-15T08:00:20.123Z',
    '2026-01-15t08:00:30.1239z': '2026-01-15T08:00:30.123Z',
  };
  const id = await caller.createInstance();
  for (const timestamp of Object.keys(written)) {
    await caller.process(id, observationAt(0, { timestamp }));
  }
  const times = (await historyOf(id)).map((row: { timestamp: string }) => row.timestamp);
  assert.equal(times.toReversed(), Object.values(written));
});

accepted('at the start of 1970 is answered 200', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0, { timestamp: '1970-01-01T00:00:00Z' }));
});

accepted('with a stale If-Match is answered 200', async () => {
  const id = await caller.createInstance();
  const answer = await send(id, observationAt(0), { 'if-match': '"snap_0000000000000000"' });
  assert.is(answer.status, 200);
});

const refused = suite('an observation that breaks a rule');
const id = await caller.createInstance();
const deep17 = JSON.parse(`${'{"a":'.repeat(16)}{}${'}'.repeat(16)}`);

const WRONG: readonly [what: string, fields: object, field: string, reason: string][] = [
  ['no mode', { mode_target: undefined }, 'mode_target', 'missing_field'],
  ['a mode in lower case', { mode_target: 'order' }, 'mode_target', 'unknown_value'],
  ['an unknown mode', { mode_target: 'JOY' }, 'mode_target', 'unknown_value'],
  ['no signal', { signal_strength: undefined }, 'signal_strength', 'missing_field'],
  ['a signal of 1.01', { signal_strength: 1.01 }, 'signal_strength', 'out_of_range'],
  ['a signal of -0.01', { signal_strength: -0.01 }, 'signal_strength', 'out_of_range'],
  ['a signal as text', { signal_strength: '0.5' }, 'signal_strength', 'wrong_type'],
  ['a signal of null', { signal_strength: null }, 'signal_strength', 'wrong_type'],
  ['a confidence of 1.01', { confidence: 1.01 }, 'confidence', 'out_of_range'],
  ['a confidence of -1', { confidence: -1 }, 'confidence', 'out_of_range'],
  ['a confidence of true', { confidence: true }, 'confidence', 'wrong_type'],
  ['a context that is a list', { context: [] }, 'context', 'wrong_type'],
  ['a context of null', { context: null }, 'context', 'wrong_type'],
  ['a context as text', { context: '{}' }, 'context', 'wrong_type'],
  ['a context of 8,193 bytes', { context: { a: 'x'.repeat(8_185) } }, 'context', 'too_long'],
  [
    'a context of 8,193 accented bytes',
    { context: { a: `x${'é'.repeat(4_092)}` } },
    'context',
    'too_long',
  ],
  ['a context of 17 levels', { context: deep17 }, 'context', 'too_deep'],
  ['an unknown field', { signal: 1 }, 'signal', 'unknown_field'],
  ['a time without offset', { timestamp: '2026-01-15T08:00:00' }, 'timestamp', 'invalid_timestamp'],
  ['a time as a number', { timestamp: 1768464000 }, 'timestamp', 'wrong_type'],
  ['a time that is a date', { timestamp: '2026-01-15' }, 'timestamp', 'invalid_timestamp'],
  ['a 30th of February', { timestamp: '2026-02-30T08:00:00Z' }, 'timestamp', 'invalid_timestamp'],
  ['a leap second', { timestamp: '2016-12-31T23:59:60Z' }, 'timestamp', 'invalid_timestamp'],
  [
    'ten fraction digits',
    { timestamp: '2026-01-15T08:00:00.0123456789Z' },
    'timestamp',
    'invalid_timestamp',
  ],
  [
    'a time before 1970',
    { timestamp: '1969-12-31T23:59:59.999Z' },
    'timestamp',
    'invalid_timestamp',
  ],
  ['a time 320 s ahead', { timestamp: secondsAhead(320) }, 'timestamp', 'timestamp_in_future'],
];

for (const [what, fields, field, reason] of WRONG) {
  refused(`with ${what} is answered 422 with the field`, async () => {
    const answer = await send(id, { ...observationAt(0), ...fields });
    assertRefused(answer, 422, 'invalid_request', { field, reason });
  });
}

refused('with a number beyond any double is answered 422 as out of range', async () => {
  const body = '{"mode_target":"ORDER","signal_strength":1e999}';
  const answer = await caller.send('POST', `/instances/${id}/process`, { body });
  const details = { field: 'signal_strength', reason: 'out_of_range' };
  assertRefused(answer, 422, 'invalid_request', details);
});

refused('advances no cycle and costs no cycle', async () => {
  assert.equal(await historyOf(id), []);
  const before = await caller.send('GET', `/instances/${id}`);
  const after = await send(id, {});
  assert.is(limitOf(after, 'monthly'), limitOf(before, 'monthly'));
  assert.is(limitOf(after, 'remaining'), limitOf(before, 'remaining') - 1);
});

const missing = suite('an observation of an instance that does not exist');

missing(
  'is answered 404, exactly as for another account’s instance, and costs no cycle',
  async () => {
    const other = await newCaller();
    const before = limitOf(await other.send('GET', '/personas'), 'monthly');
    const bodies = new Set<string>();
    for (const unknown of ['inst_0123456789abcdef', 'nonsense', id]) {
      const answer = await other.send('POST', `/instances/${unknown}/process`, {
        json: observationAt(0),
      });
      assertRefused(answer, 404, 'not_found');
      assert.is(limitOf(answer, 'monthly'), before);
      bodies.add(answer.text);
    }
    assert.is(bodies.size, 1);
    assert.equal(await historyOf(id), []);
  },
);

for (const each of [accepted, refused, missing]) each.run();
