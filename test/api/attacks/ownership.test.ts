import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Answer } from '#test/support/calls/caller';
import { dial, requestText } from '#test/support/calls/raw-http';
import { observationAt, sharedScene } from '#test/support/calls/scene';

const { service, caller: owner, newCaller } = await sharedScene();
const stranger = await newCaller();
const id = await owner.createInstance({ description: 'private' });
await owner.process(id, observationAt(0, { context: { secret: 'mine' } }));
const etag = (await owner.send('GET', `/instances/${id}`)).headers.get('etag') ?? '';

const UNKNOWN_ID = 'inst_0123456789abcdef';
const BODIES: Record<string, unknown> = {
  updateInstance: { name: 'stolen' },
  processObservation: observationAt(10),
  processBatch: { observations: [observationAt(10)] },
  simulateObservations: { observations: [observationAt(10)] },
  resetInstance: { mode: 'initial' },
  forkInstance: { name: 'stolen', cycle: 1 },
};

/** Headers to ignore when two answers are compared. */
const VARYING = ['x-request-id', 'x-ratelimit-remaining', 'ratelimit', 'date'];

function comparable({ status, headers, text }: Answer) {
  return { status, text, headers: [...headers].filter(([name]) => !VARYING.includes(name)) };
}

const foreign = suite('another account’s instance');

for (const { name, method, path } of ENDPOINTS.filter((row) => row.path.includes('/instances/'))) {
  foreign(`is answered by ${name} like an instance that never existed`, async () => {
    const json = BODIES[name];
    const sent = json === undefined ? {} : { json };
    const ask = (which: string) => stranger.send(method, path.replace(':id', which), sent);
    const answer = await ask(id);
    assert.is(answer.status, 404);
    assert.equal(comparable(answer), comparable(await ask(UNKNOWN_ID)));
    assert.equal(comparable(answer), comparable(await ask('not-an-id')));
    assert.is(answer.headers.get('etag'), null);
  });
}

foreign('is answered 404, whatever conditions the request has', async () => {
  const conditions = [{ 'if-match': etag }, { 'if-match': '*' }, { 'if-none-match': etag }];
  for (const headers of conditions) {
    const seen = await stranger.send('GET', `/instances/${id}`, { headers });
    assert.is(seen.status, 404);
    const removed = await stranger.send('DELETE', `/instances/${id}`, { headers });
    assert.is(removed.status, 404);
  }
});

foreign('is unchanged after all these requests', async () => {
  const answer = await owner.send('GET', `/instances/${id}`);
  assert.is(answer.headers.get('etag'), etag);
  assert.equal([answer.body.data.name, answer.body.data.cycle_count], ['Ada', 1]);
});

foreign('is not in the list of another account, nor in its total', async () => {
  const { data, pagination } = (await stranger.send('GET', '/instances?limit=100')).body;
  assert.equal([data, pagination.total], [[], 0]);
});

const keys = suite('the same Idempotency-Key or request id in two accounts');

keys('identifies two different calls', async () => {
  const headers = { 'idempotency-key': 'shared-key' };
  const json = { name: 'one' };
  const mine = await owner.send('POST', '/instances', { json, headers });
  const theirs = await stranger.send('POST', '/instances', { json: { name: 'two' }, headers });
  assert.equal([mine.status, theirs.status], [201, 201]);
  assert.is.not(mine.body.data.id, theirs.body.data.id);
  assert.is(theirs.headers.get('idempotent-replayed'), null);
});

keys('does not reveal a stored answer to the other account', async () => {
  const headers = { 'idempotency-key': 'processed' };
  const json = observationAt(100);
  const path = `/instances/${id}/process`;
  assert.is((await owner.send('POST', path, { json, headers })).status, 200);
  const answer = await stranger.send('POST', path, { json, headers });
  assert.is(answer.status, 404);
  assert.is(answer.headers.get('idempotent-replayed'), null);
});

keys('does not reveal another account’s instance', async () => {
  const headers = { 'x-request-id': 'request-of-owner' };
  await owner.send('GET', `/instances/${id}`, { headers });
  const answer = await stranger.send('GET', `/instances/${id}`, { headers });
  assert.is(answer.status, 404);
  assert.is(answer.headers.get('x-request-id'), 'request-of-owner');
});

/** Number of timed requests for each kind of instance. */
const SAMPLES = 10_000;

/** Request pairs on one connection, which serves at most 10,000 requests. */
const PAIRS_PER_ROUND = 2_200;
/** Number of pairs at the start of each connection that are not timed. */
const WARM_UP = 200;

/** Share of samples to keep. The slowest samples measure the machine, not the service. */
const KEPT = 0.9;

/**
 * Maximum relative difference between the mean times. One additional look-up or message would
 * cause a much larger difference.
 */
const DIFFERENCE_MAX = 0.1;

const timing = suite('the time of a 404');

timing('does not reveal whether another account’s instance exists', async () => {
  const times = { foreign: [] as number[], unknown: [] as number[] };
  while (times.foreign.length < SAMPLES) await timeRound(times);
  const [foreignMs, unknownMs] = [meanOf(times.foreign), meanOf(times.unknown)];
  const difference = Math.abs(foreignMs - unknownMs) / unknownMs;
  const figures = `foreign ${foreignMs.toFixed(4)} ms, unknown ${unknownMs.toFixed(4)} ms`;
  assert.ok(difference < DIFFERENCE_MAX, figures);
});

/** Requests a foreign and an unknown instance, in alternating order. */
async function timeRound(times: Record<'foreign' | 'unknown', number[]>): Promise<void> {
  using connection = await dial(service);
  const auth = `Authorization: Bearer ${stranger.key}`;
  for (let i = 0; i < PAIRS_PER_ROUND; i += 1) {
    const random = crypto.getRandomValues(Buffer.alloc(8)).toString('hex');
    const pair = { foreign: id, unknown: `inst_${random}` };
    const order = Object.entries(pair) as ['foreign' | 'unknown', string][];
    for (const [which, target] of i % 2 === 0 ? order : order.reverse()) {
      const request = requestText('GET', `/v1/instances/${target}`, [auth]);
      const startedMs = performance.now();
      connection.write(request);
      const answer = await connection.next();
      const tookMs = performance.now() - startedMs;
      if (answer?.status !== 404) throw new Error(`answered ${answer?.status}`);
      if (i >= WARM_UP) times[which].push(tookMs);
    }
  }
}

function meanOf(samples: readonly number[]): number {
  const kept = samples.toSorted((a, b) => a - b).slice(0, samples.length * KEPT);
  return kept.reduce((sum, ms) => sum + ms, 0) / kept.length;
}

for (const each of [foreign, keys, timing]) each.run();
