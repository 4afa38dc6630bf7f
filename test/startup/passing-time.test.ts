import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Caller } from '#test/support/calls/caller';
import {
  assertRefused,
  createInstance,
  limitOf,
  newDocumentedCaller,
  process,
} from '#test/support/calls/scene';
import { startClocked } from '#test/support/servers/clocked-service';
import { turnOfEvents } from '#test/support/settled';

const HOUR_MS = 3_600_000;
const { service, clock } = await startClocked(Date.UTC(2026, 0, 15, 12));
const caller = await newDocumentedCaller(service);
const SEEN = { mode_target: 'ORDER', signal_strength: 0.5 };
const processed = (id: string, of: Caller = caller) =>
  of.send('POST', `/instances/${id}/process`, { json: SEEN });
const timesOf = async (id: string): Promise<number[]> => {
  const { data } = (await caller.send('GET', `/instances/${id}/history`)).body;
  return data.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp)).toReversed();
};
const keyed = (key: string, json: object, path = '/instances') =>
  caller.send('POST', path, { json, headers: { 'idempotency-key': key } });

/** Step of the fake clock, in milliseconds. All due work runs between steps. */
const STEP_MS = 600_000;

async function pass(ms: number, moved = clock): Promise<void> {
  for (let left = Math.round(ms); left > 0; left -= STEP_MS) {
    moved.advance(Math.min(left, STEP_MS));
    await turnOfEvents();
  }
}

const minute = suite('the minute window of requests');

minute('starts with the first request, and ends exactly 60 s later', async () => {
  const someone = await newDocumentedCaller(service, { requestsPerMinute: 2 });
  await pass(7_300);
  const startMs = clock.wallMs();
  const reset = Math.ceil((startMs + 60_000) / 1_000);
  assert.is(limitOf(await someone.send('GET', '/personas'), 'reset'), reset);
  await pass(59_000);
  assert.is(limitOf(await someone.send('GET', '/personas'), 'reset'), reset);
  const refused = await someone.send('GET', '/personas');
  assertRefused(refused, 429, 'rate_limited', { alias: 'rate_limit_exceeded' });
  assert.is(limitOf(refused, 'reset'), reset);
  await pass(Number(refused.headers.get('retry-after')) * 1_000);
  const next = await someone.send('GET', '/personas');
  assert.is(next.status, 200, 'a call after the time in Retry-After must be served');
  assert.is(limitOf(next, 'remaining'), 1);
  assert.is(limitOf(next, 'reset'), Math.ceil((clock.wallMs() + 60_000) / 1_000));
});

minute('starts again with the first request after its end', async () => {
  const someone = await newDocumentedCaller(service, { requestsPerMinute: 5 });
  await someone.send('GET', '/personas');
  await pass(150_000);
  const next = await someone.send('GET', '/personas');
  assert.is(limitOf(next, 'remaining'), 4);
  assert.is(limitOf(next, 'reset'), Math.ceil((clock.wallMs() + 60_000) / 1_000));
});

const observed = suite('an observation');

observed('without a timestamp is throttled for exactly a second', async () => {
  const id = await createInstance(caller);
  await process(caller, id, SEEN);
  await pass(999);
  const early = await processed(id);
  assert.is(early.headers.get('x-throttled'), 'true');
  assert.is(early.headers.get('retry-after'), '1');
  await pass(1);
  assert.is((await processed(id)).body.data.snapshot.cycle, 2);
});

observed('without a timestamp is accepted after a second if the clock steps back', async () => {
  const id = await createInstance(caller);
  await process(caller, id, SEEN);
  const [firstMs = 0] = await timesOf(id);
  clock.stepWall(-2 * HOUR_MS);
  assert.is((await processed(id)).headers.get('x-throttled'), 'true');
  await pass(1_000);
  assert.is((await processed(id)).headers.get('x-throttled'), null);
  assert.equal(await timesOf(id), [firstMs, firstMs + 1_000]);
  clock.stepWall(2 * HOUR_MS);
});

observed('without a timestamp is accepted after a clock step and an eviction', async () => {
  const id = await createInstance(caller);
  await process(caller, id, SEEN);
  const [firstMs = 0] = await timesOf(id);
  await pass(10 * 60_000);
  clock.stepWall(-2 * HOUR_MS);
  assert.is((await processed(id)).headers.get('x-throttled'), null);
  assert.equal(await timesOf(id), [firstMs, firstMs + 1_000]);
  clock.stepWall(2 * HOUR_MS);
});

observed(
  'in a batch without timestamps has a time up to now, but after the previous observation',
  async () => {
    const id = await createInstance(caller);
    await process(caller, id, SEEN);
    const [firstMs = 0] = await timesOf(id);
    const batch = { observations: [SEEN, SEEN, SEEN] };
    const path = `/instances/${id}/process/batch`;
    await pass(2_500);
    await caller.send('POST', path, { json: batch });
    const after = [1, 2, 3].map((second) => firstMs + second * 1_000);
    assert.equal((await timesOf(id)).slice(1), after);
    const early = await caller.send('POST', path, { json: batch });
    assert.is(early.body.data.processed_count, 0);
    assert.is(early.headers.get('retry-after'), '2');
    await pass(60_000);
    await caller.send('POST', path, { json: batch });
    const now = [2, 1, 0].map((second) => clock.wallMs() - second * 1_000);
    assert.equal((await timesOf(id)).slice(4), now);
  },
);

observed('may have a timestamp up to exactly 300 s ahead', async () => {
  const id = await createInstance(caller);
  const at = (ms: number) => ({ ...SEEN, timestamp: new Date(clock.wallMs() + ms).toISOString() });
  const path = `/instances/${id}/process`;
  const beyond = await caller.send('POST', path, { json: at(300_001) });
  const details = { field: 'timestamp', reason: 'timestamp_in_future' };
  assertRefused(beyond, 422, 'invalid_request', details);
  await process(caller, id, at(300_000));
});

const updated = suite('the time of the last change');

updated('is the same in every answer, and changes only with a committed change', async () => {
  const id = await createInstance(caller);
  const path = `/instances/${id}`;
  const createdMs = clock.wallMs();
  const changes: readonly [method: string, path: string, json: object][] = [
    ['PATCH', '', { name: 'x' }],
    ['POST', '/process', SEEN],
    ['POST', '/process/batch', { observations: [SEEN, SEEN] }],
    ['POST', '/reset', { mode: 'default' }],
  ];
  for (const [method, at, json] of changes) {
    await pass(5_000);
    const changedMs = clock.wallMs();
    const answer = await caller.send(method, `${path}${at}`, { json });
    assert.is(answer.status, 200);
    await pass(400);
    await caller.send(method, `${path}${at}`, { json: { nonsense: true } });
    if (at === '/process') await processed(id);
    const instance = (await caller.send('GET', path)).body.data;
    const snapshot = (await caller.send('GET', `${path}/snapshot`)).body.data;
    assert.is(Date.parse(instance.updated_at), changedMs, `${method} ${at}`);
    assert.is(instance.updated_at, snapshot.updated_at);
    assert.is(Date.parse(instance.created_at), createdMs);
    assert.is(instance.created_at, snapshot.created_at);
  }
});

const away = suite('an instance without recent calls');
const KEY = 'a key to remember';

away('gives the same answers as before and continues', async () => {
  const config = { mode_strengths: { perception: 0.85, order: 0.75 } };
  const id = await createInstance(caller, { initial_config: config });
  for (let i = 0; i < 30; i += 1) {
    await process(caller, id, { mode_target: 'EXPLORATION', signal_strength: 1 });
    await pass(1_000);
  }
  const paths = ['', '/snapshot', '/contract', '/history', '/drift'];
  const read = () =>
    Promise.all(
      paths.map(async (path) => (await caller.send('GET', `/instances/${id}${path}`)).body),
    );
  const before = await read();
  await pass(10 * 60_000);
  assert.equal(await read(), before);
  assert.is((await processed(id)).body.data.snapshot.cycle, 31);
  const page = (await caller.send('GET', `/instances/${id}/history?limit=3`)).body;
  assert.equal(
    page.data.map(({ cycle }: { cycle: number }) => cycle),
    [31, 30, 29],
  );
  const listed = (await caller.send('GET', '/instances?limit=100')).body.data;
  assert.is(listed.find((row: { id: string }) => row.id === id).cycle_count, 31);
});

away('replays a keyed answer for 24 hours, then treats the call as new', async () => {
  const made = await keyed(KEY, { name: 'k' });
  const id = made.body.data.id;
  const path = `/instances/${id}/process`;
  const first = await keyed(KEY, SEEN, path);
  const gone = (await keyed('unreachable', { name: 'g' })).body.data.id;
  await caller.send('DELETE', `/instances/${gone}`);
  for (const [waitedMs, steppedMs] of [
    [10 * 60_000, 0],
    [0, 23.8 * HOUR_MS],
  ] as const) {
    await pass(waitedMs);
    clock.stepWall(steppedMs);
    for (const [again, original] of [
      [await keyed(KEY, { name: 'k' }), made],
      [await keyed(KEY, SEEN, path), first],
    ] as const) {
      assert.is(again.headers.get('idempotent-replayed'), 'true');
      assert.is(again.text, original.text);
    }
    assertRefused(await keyed('unreachable', { name: 'g' }), 409, 'conflict', {
      reason: 'deleted',
    });
  }
  clock.stepWall(0.1 * HOUR_MS);
  const repeated = await keyed(KEY, SEEN, path);
  assert.is(repeated.headers.get('idempotent-replayed'), null);
  assert.is(repeated.body.data.snapshot.cycle, 2);
  const another = await keyed(KEY, { name: 'k' });
  assert.is(another.status, 201);
  assert.is(another.headers.get('idempotent-replayed'), null);
  assert.is.not(another.body.data.id, id);
  assert.is((await keyed('unreachable', { name: 'g' })).status, 201);
});

away('replays a keyed answer for 24 hours even without an eviction', async () => {
  const made = await keyed('short', { name: 's' });
  clock.stepWall(24 * HOUR_MS);
  assert.is((await keyed('short', { name: 's' })).text, made.text);
  clock.stepWall(1);
  assert.is.not((await keyed('short', { name: 's' })).text, made.text);
});

away('is not recreated by its idempotency key after a deletion: 409', async () => {
  const key = 'a key of one deleted';
  const made = await keyed(key, { name: 'k' });
  await pass(10 * 60_000);
  await caller.send('DELETE', `/instances/${made.body.data.id}`);
  for (const ms of [0, 10 * 60_000]) {
    await pass(ms);
    assertRefused(await keyed(key, { name: 'k' }), 409, 'conflict', { reason: 'deleted' });
  }
});

const month = suite('the monthly quota of cycles');

month('ends with the calendar month in UTC, and is then full again', async () => {
  const late = await startClocked(Date.UTC(2026, 1, 28, 23, 59, 50));
  const poor = await newDocumentedCaller(late.service, { cyclesPerMonth: 1 });
  const id = await createInstance(poor);
  await process(poor, id, SEEN);
  await pass(2_500, late.clock);
  const refused = await processed(id, poor);
  assertRefused(refused, 429, 'quota_exceeded');
  assert.is(refused.headers.get('retry-after'), '8');
  await pass(7_499, late.clock);
  assert.is((await processed(id, poor)).status, 429);
  await pass(1, late.clock);
  const next = await processed(id, poor);
  assert.is(next.status, 200);
  assert.is(limitOf(next, 'monthly'), 0);
  await late.service[Symbol.asyncDispose]();
});

month.after(async () => service[Symbol.asyncDispose]());

for (const each of [minute, observed, updated, away, month]) each.run();
