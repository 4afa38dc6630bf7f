import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ContextSource, parseJsonBody } from '#edge/serve/json';
import { liveHeapBytes } from '#test/support/garbage';

/** Number of stored contexts. */
const CONTEXTS = 500;
/** Bytes of text beside the context in each request body. */
const BODY_BYTES = 30_000;

const CONTEXT = '{"cause":"a failed deployment"}';

/** Parses a large body, and returns the context to store. */
function contextOf(n: number): string {
  const body = `{"a":${n},"context":${CONTEXT},"b":"${'x'.repeat(BODY_BYTES)}"}`;
  const { context } = parseJsonBody(Buffer.from(body)) as { context: unknown };
  assert.instance(context, ContextSource);
  return (context as ContextSource).json;
}

const kept = suite('a stored context');

kept('does not keep its request body in memory', () => {
  contextOf(0);
  const before = liveHeapBytes();
  const contexts = Array.from({ length: CONTEXTS }, (_, n) => contextOf(n));
  const bytes = (liveHeapBytes() - before) / CONTEXTS;
  assert.ok(bytes < 1_000, `${bytes} bytes each`);
  assert.ok(contexts.every((context) => context === CONTEXT));
});

kept('is taken only from fields in which the API allows a context', () => {
  for (const text of ['[{"context":{}}]', '{"a":{"context":{}}}', '{"context":[1]}', 'null']) {
    assert.equal(parseJsonBody(Buffer.from(text)), JSON.parse(text));
  }
});

for (const [sent, given = sent] of [
  ['{"n":12345678901234567890,"m":1.0,"e":1e2,"z":-0}'],
  ['{"2":1,"1":2,"b":0,"a":0}'],
  ['{"context":{"n":1.0},"n":{"context":{"n":1}}}'],
  [String.raw`{"n":1.0,"text":"\"context\":{\"n\":1}"}`],
  [' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'],
  ['{"a":"\\u0041\\/"}', '{"a":"A/"}'],
] as const) {
  kept(`has the caller’s own text: ${sent}`, () => {
    for (const body of [
      `{"context":${sent}}`,
      `{"a":{"context":{"a":1}},"context":${sent},"b":1}`,
    ]) {
      const { context } = parseJsonBody(Buffer.from(body)) as { context: ContextSource };
      assert.is(context.json, given);
    }
    const batch = `{"observations":[{"context":{"n":1}},{"context":${sent}}]}`;
    const { observations } = parseJsonBody(Buffer.from(batch)) as {
      observations: { context: ContextSource }[];
    };
    assert.is(observations[1]?.context.json, given);
  });
}

kept.run();
