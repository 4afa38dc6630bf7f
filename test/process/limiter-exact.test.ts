import * as assert from 'uvu/assert';
import { type MigratedKeyspace, openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { type Answer, admin, type Caller, newCaller } from '#test/support/caller';
import { type Cluster, startCluster } from '#test/support/cluster';
import { ownerOf } from '#test/support/limiter-owner';
import { cassandraOrSkip, natsOrSkip } from '#test/support/real-servers';
import { createInstance, observationAt } from '#test/support/scene';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** The month of the account that loses its limiter three times, and the least of it that it gets. */
const QUOTA = 3_000;
const SHARE_MIN = 0.85;
const KILLS = 3;

/** Callers of it, and how long each waits before its next call: some 250 calls a second in all. */
const CALLERS = 10;
const PAUSE_MS = 40;

let keyspace: MigratedKeyspace;
let cluster: Cluster;

const exact = suite('with two limiters');

exact.before(async () => {
  keyspace = await openMigratedKeyspace(cassandra);
  const place = { cassandra, keyspace: keyspace.name, nats };
  cluster = await startCluster(place, ['engine'], { limiters: ['a', 'b'] });
});
exact.after(async () => {
  await cluster[Symbol.asyncDispose]();
  await keyspace[Symbol.asyncDispose]();
});

exact('of 1,000 calls at once on an account with 60 a minute exactly 60 succeed', async () => {
  const someone = await loadedAccount({ requestsPerMinute: 60 });
  const statuses = await many(someone, 1_000);
  assert.equal(
    tallyOf(statuses),
    new Map([
      [200, 60],
      [429, 940],
    ]),
  );
});

exact('of 1,000 in a second, with its limiter killed meanwhile, at most 60', async () => {
  const someone = await loadedAccount({ requestsPerMinute: 60 });
  const owner = await ownerOf(cluster, someone.accountId);
  const { isReached, hear } = countdown(20);
  const pending = many(someone, 1_000, 1_000, hear);
  await isReached;
  await kill(owner);
  const statuses = await pending;
  assert.ok((tallyOf(statuses).get(503) ?? 0) > 0, 'it was killed in the middle');
  const deadlineMs = performance.now() + 10_000;
  let later: Answer;
  do {
    later = await someone.send('GET', '/personas');
    statuses.push(later.status);
    assert.ok(performance.now() < deadlineMs, 'nobody has taken the account over');
  } while (later.status === 503);
  statuses.push(...(await many(someone, 100)));
  const granted = tallyOf(statuses).get(200) ?? 0;
  console.log(`of 60 requests ${granted} were granted`);
  assert.ok(granted >= 20 && granted <= 60, `${granted} were granted`);
  await cluster.startLimiter(owner);
});

exact('with its limiter killed three times a quota is used, and never exceeded', async () => {
  const someone = await newCaller(cluster.service(), { cyclesPerMonth: QUOTA });
  const engine = cluster.engines.get('engine');
  if (engine === undefined) throw new Error('there is an engine');
  const before = await cluster.metric(engine, 'identity_cycles_total');
  const progress = { done: 0, isOver: false };
  const observers = Array.from({ length: CALLERS }, () => observe(someone, progress));
  // One that fails is heard of below.
  for (const observer of observers) observer.catch(() => undefined);
  for (let kills = 1; kills <= KILLS; kills += 1) {
    while (progress.done < (kills * QUOTA) / (KILLS + 2)) await pause(20);
    const owner = await ownerOf(cluster, someone.accountId);
    assert.not.ok(progress.isOver, 'the quota outlasts the kills');
    await kill(owner);
    await cluster.startLimiter(owner);
  }
  await Promise.all(observers);
  const executed = (await cluster.metric(engine, 'identity_cycles_total')) - before;
  console.log(`of ${QUOTA} cycles ${executed} were executed, ${progress.done} acknowledged`);
  assert.ok(executed <= QUOTA, `${executed} executed`);
  assert.ok(executed >= QUOTA * SHARE_MIN, `${executed} executed`);
  const usage = await admin(cluster.service(), 'GET', `/accounts/${someone.accountId}/usage`);
  assert.ok(usage.cycles_used + usage.cycles_reserved >= executed, 'charged for all of them');
  const { cycles_used, cycles_lost, cycles_expired } = usage;
  assert.ok(cycles_used <= executed + cycles_lost + cycles_expired, 'and for nothing else');
});

exact.run();

/** An account whose meter is in memory at its limiter. */
async function loadedAccount(wish: { requestsPerMinute: number }): Promise<Caller> {
  const someone = await newCaller(cluster.service(), wish);
  await ownerOf(cluster, someone.accountId);
  return someone;
}

/** So many calls at once, or spread over a time, whatever the answers take: their statuses. */
function many(someone: Caller, count: number, overMs = 0, hear?: (status: number) => void) {
  const calls = Array.from({ length: count }, async (_, n) => {
    await pause((n * overMs) / count);
    const { status } = await someone.send('GET', '/personas');
    hear?.(status);
    return status;
  });
  return Promise.all(calls);
}

function tallyOf(statuses: readonly number[]): Map<number, number> {
  const groups = Map.groupBy(statuses.toSorted(), (status) => status);
  return new Map([...groups].map(([status, all]) => [status, all.length]));
}

/** Fulfils when so many calls have succeeded. */
function countdown(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const hear = (status: number): void => {
    if (status === 200) left -= 1;
    if (left === 0) resolve();
  };
  return { isReached: promise, hear };
}

/** Observes an instance of its own until the account's month is used up. */
async function observe(someone: Caller, progress: { done: number; isOver: boolean }) {
  const id = await createInstance(someone);
  for (let seconds = 0; ; seconds += 2) {
    const json = observationAt(seconds);
    const answer = await someone.send('POST', `/instances/${id}/process`, { json });
    if (answer.body.error === 'quota_exceeded') break;
    if (answer.status === 200) progress.done += 1;
    else assert.is(answer.status, 503, answer.text);
    await pause(PAUSE_MS);
  }
  progress.isOver = true;
}

async function kill(name: string): Promise<void> {
  const run = cluster.limiters.get(name);
  run?.child.kill('SIGKILL');
  await run?.ended;
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
