import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { arbitraryJsonObject, jsonTokens } from '#test/support/calls/json-source';
import { morning, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const HEADERS = { 'content-type': 'application/json' };

/** An observation's body with this raw JSON as its context. */
const observation = (context: string, seconds: number, key = 'context') =>
  `{ "mode_target" : "ORDER", "${key}":${context},"signal_strength":0.5,"timestamp":"${morning(seconds)}"}`;

async function post(path: string, body: string): Promise<void> {
  const answer = await caller.send('POST', path, { body, headers: HEADERS });
  assert.is(answer.status, 200, answer.text);
}

/** The raw JSON of each context in an instance's history, oldest first. */
async function contextsOf(id: string): Promise<string[]> {
  const { text } = await caller.send('GET', `/instances/${id}/history`);
  const found = [...text.matchAll(/"confidence":1,"context":(.*?),"timestamp":"2026-/gs)];
  return found.map(([, context = '']) => context).reverse();
}

const kept = suite('the context of an observation');

for (const [what, context] of [
  [
    'numbers beyond the precision of doubles',
    '{"n":12345678901234567890.12345678901234567890,"m":1e20}',
  ],
  ['zeros and signs of numbers', '{"n":[1.0,-0,1E+2,0.10]}'],
  ['the order of keys that look like numbers', '{"10":1,"2":2,"b":3,"1":4}'],
  ['a nested context', '{"context":{"2":1,"1":2},"observations":[{"context":{"9":1,"3":1}}]}'],
] as const) {
  kept(`keeps ${what}`, async () => {
    const id = await caller.createInstance();
    await post(`/instances/${id}/process`, observation(context, 0));
    await post(`/instances/${id}/process`, observation(context, 1, 'cont\\u0065xt'));
    await post(
      `/instances/${id}/process/batch`,
      `{"observations":[${observation(context, 2)},${observation('{}', 3)}]}`,
    );
    assert.equal(await contextsOf(id), [context, context, context, '{}']);
  });
}

kept('keeps the meaning of any JSON object, in a single call and in a batch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryJsonObject, { minLength: 1, maxLength: 4 }), async (all) => {
      const id = await caller.createInstance();
      await post(`/instances/${id}/process`, observation(all[0] ?? '{}', 0));
      const batch = all.map((context, n) => observation(context, n + 1));
      await post(`/instances/${id}/process/batch`, `{"observations" : [ ${batch.join(' , ')} ]}`);
      const given = await contextsOf(id);
      assert.equal(given.map(jsonTokens), [all[0] ?? '{}', ...all].map(jsonTokens));
    }),
    { numRuns: 60 },
  );
});

kept('is stored and measured without unneeded white space and escapes', async () => {
  const id = await caller.createInstance();
  const sent = `{ "a" :${' '.repeat(9_000)}"${'\\u0041'.repeat(2_000)}" }`;
  await post(`/instances/${id}/process`, observation(sent, 0));
  assert.equal(await contextsOf(id), [`{"a":"${'A'.repeat(2_000)}"}`]);
});

kept.run();
