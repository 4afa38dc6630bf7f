import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '#test/support/calls/caller';
import { newKey, uuidV7 } from '#test/support/calls/keyed-calls';
import { assertRefused, limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { caller, newCaller } = await sharedScene();

type Sender = Pick<typeof caller, 'send'>;
const send = (of: Sender, id: string, observations: readonly object[], more: object = {}) =>
  of.send('POST', `/instances/${id}/process/batch`, { json: { observations, ...more } });
const keyed = (second: number, key: string = newKey()) => ({
  ...observationAt(second),
  idempotency_key: key,
});
const statusesOf = ({ body }: Answer): string[] =>
  body.data.results.map(({ status }: { status: string }) => status);

const items = suite('a batch with optional item keys');

// Report 2: a batch that was sent again after a crash was applied and charged a second time.
items('is answered per item, and a repetition changes and costs nothing', async () => {
  const payer = await newCaller({ cyclesPerMonth: 10 });
  const id = await payer.createInstance();
  const log = [keyed(0), keyed(1), keyed(2)];
  const first = await send(payer, id, log);
  assert.equal(first.body.data.results, [
    { index: 0, status: 'applied' },
    { index: 1, status: 'applied' },
    { index: 2, status: 'applied' },
  ]);
  assert.equal([first.status, limitOf(first, 'monthly')], [200, 7]);
  assert.is(first.headers.get('idempotent-replayed'), null);
  const again = await send(payer, id, log);
  assert.equal(statusesOf(again), ['replayed', 'replayed', 'replayed']);
  assert.equal([again.status, limitOf(again, 'monthly')], [200, 7]);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  assert.is(again.headers.get('etag'), first.headers.get('etag'));
  assert.equal([again.body.data.processed_count, again.body.data.snapshot.cycle], [0, 3]);
  const longer = await send(payer, id, [...log, keyed(3)], { include_intermediate: true });
  assert.equal(statusesOf(longer), ['replayed', 'replayed', 'replayed', 'applied']);
  assert.equal([longer.body.data.states.length, limitOf(longer, 'monthly')], [1, 6]);
});

items('without any key has no results', async () => {
  const id = await caller.createInstance();
  const { body } = await send(caller, id, [observationAt(0)]);
  assert.equal(Object.keys(body.data), ['snapshot', 'contract', 'drift', 'processed_count']);
});

items('recognises keys of single calls, and single calls recognise item keys', async () => {
  const id = await caller.createInstance();
  const [alone, inBatch] = [uuidV7(), uuidV7()];
  const single = (observation: object, key: string) =>
    caller.send('POST', `/instances/${id}/process`, {
      json: observation,
      headers: { 'idempotency-key': key },
    });
  await single(observationAt(0), alone);
  const answer = await send(caller, id, [keyed(0, alone), keyed(1, inBatch)]);
  assert.equal(statusesOf(answer), ['replayed', 'applied']);
  const replayed = await single(observationAt(1), inBatch);
  assert.is(replayed.headers.get('idempotent-replayed'), 'true');
  assert.is(replayed.body.data.snapshot.cycle, 2);
  const details = { field: 'Idempotency-Key', reason: 'idempotency_key_reused' };
  assertRefused(await single(observationAt(9), inBatch), 422, 'invalid_request', details);
  const field = 'observations[1].idempotency_key';
  const other = await send(caller, id, [keyed(20), keyed(21, alone)]);
  assertRefused(other, 422, 'invalid_request', { field, reason: 'idempotency_key_reused' });
});

items('recognises a key at any position of an item’s JSON', async () => {
  const id = await caller.createInstance();
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    caller.send('POST', `/instances/${id}/process${path}`, {
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const observation = '{"mode_target": "ORDER", "signal_strength": 0.70, "context": {"a": [1.0]}}';
  const [first, second] = [newKey(), newKey()];
  await post('', observation, { 'idempotency-key': first });
  const places = [
    observation.replace('{', `{"idempotency_key": "${first}", `),
    observation.replace(', "signal', `, "idempotency_key" : "${first}", "signal`),
    observation.replace(/\}$/, `, "idempotency_key": "${first}"}`),
  ];
  for (const item of places) {
    const answer = await post('/batch', `{ "observations" : [ ${item} ] }`);
    assert.equal(statusesOf(answer), ['replayed'], item);
  }
  const context = '"context":{"a":[1.0]}';
  const item = `{"idempotency_key":"${second}","mode_target":"ORDER",${context},"signal_strength":0.7}`;
  const applied = await post('/batch', `{"observations":[${item}]}`);
  assert.equal(statusesOf(applied), ['throttled']);
});

items('reports throttled items, or is answered 429 under strict handling', async () => {
  const id = await caller.createInstance();
  const known = keyed(10);
  await send(caller, id, [known]);
  const early = [known, keyed(5)];
  const answer = await send(caller, id, early);
  assert.equal(statusesOf(answer), ['replayed', 'throttled']);
  assert.is(answer.headers.get('x-throttled'), 'true');
  const strict = await caller.send('POST', `/instances/${id}/process/batch`, {
    json: { observations: early },
    headers: { prefer: 'handling=strict' },
  });
  assertRefused(strict, 429, 'throttled', { reason: 'min_cycle_interval' });
});

items('is answered when the quota is used up, if all items were applied before', async () => {
  const poor = await newCaller({ cyclesPerMonth: 2 });
  const id = await poor.createInstance();
  const log = [keyed(0), keyed(1)];
  await send(poor, id, log);
  assert.equal(statusesOf(await send(poor, id, log)), ['replayed', 'replayed']);
  assertRefused(await send(poor, id, [...log, keyed(2)]), 429, 'quota_exceeded');
});

const spelled = suite('an item key');

for (const [what, key, reason] of [
  ['is empty', '', 'too_short'],
  ['has 256 characters', 'k'.repeat(256), 'too_long'],
  ['is not ASCII', 'kéy', 'invalid_text'],
  ['has a space at its end', 'key ', 'invalid_text'],
  ['is a number', 7, 'wrong_type'],
  ['is null', null, 'wrong_type'],
] as const) {
  spelled(`that ${what} is refused with the name of its field`, async () => {
    const id = await caller.createInstance();
    const item = { ...observationAt(1), idempotency_key: key };
    const field = 'observations[1].idempotency_key';
    const answer = await send(caller, id, [keyed(0), item]);
    assertRefused(answer, 422, 'invalid_request', { field, reason });
    assert.is((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 0);
  });
}

spelled('is not a field of a single call or a simulation', async () => {
  const id = await caller.createInstance();
  const single = await caller.send('POST', `/instances/${id}/process`, { json: keyed(0) });
  const reason = 'unknown_field';
  assertRefused(single, 422, 'invalid_request', { field: 'idempotency_key', reason });
  const json = { observations: [keyed(0)] };
  const simulated = await caller.send('POST', `/instances/${id}/simulate`, { json });
  const field = 'observations[0].idempotency_key';
  assertRefused(simulated, 422, 'invalid_request', { field, reason });
});

for (const group of [items, spelled]) group.run();
