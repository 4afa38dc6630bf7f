import * as assert from 'uvu/assert';
import { type FaultyLink, openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { createInstance, limitOf, observationAt } from '#test/support/calls/scene';
import type { ProcessRun } from '#test/support/process-run';
import { ownerOf } from '#test/support/servers/limiter-owner';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/**
 * Maximum median time of a refusal on a busy machine, in milliseconds. A quiet machine needs 100 ms
 * for the limiter and 50 ms for the edge, as the chaos run measures.
 */
const PROMPT_MS = 400;

/** Maximum time of any refusal on a busy machine, in milliseconds. */
const BUSY_MS = 1_000;

/** Maximum recovery time after the last fault, in milliseconds. */
const RECOVERY_MS_MAX = 10_000;

/** Link from the limiters to Cassandra. */
let toCassandra: FaultyLink;
/** Link from all processes to NATS. */
let toNats: FaultyLink;
let cluster: OwnCluster;
let someone: Caller;
let id: string;
/** Seconds since the first observation; increases with each call. */
let seconds = 0;

const down = suite('when limiters or their stores are down');

down.before(async () => {
  toCassandra = await openFaultyLink(cassandra);
  toNats = await openFaultyLink(nats.replace('nats://', ''));
  const servers = { cassandra, nats: `nats://${toNats.address}` };
  cluster = await startOwnCluster(servers, ['engine'], {
    limiters: ['a', 'b'],
    variables: { SERVICE_LIMITER_TIMEOUT_MS: '100' },
    limiterVariables: { SERVICE_CASSANDRA_CONTACT_POINTS: toCassandra.address },
  });
  someone = await newCaller(cluster.service(), { cyclesPerMonth: 1_000 });
  id = await retried(() => createInstance(someone));
});
down.after(async () => {
  for (const { child } of cluster.limiters.values()) child.kill('SIGCONT');
  await cluster[Symbol.asyncDispose]();
  for (const link of [toCassandra, toNats]) await link[Symbol.asyncDispose]();
});

down('calls are served without NATS', async () => {
  assert.ok(toNats.connections >= 4, 'every process is connected through the link');
  const before = await retried(observe);
  away(toNats);
  for (let sent = 1; sent <= 20; sent += 1) assert.is(await retried(observe), before - sent);
  await untilConnected(0);
  back(toNats);
  await untilConnected(1);
});

down(
  'every call gets 503 without Cassandra once the leases have expired, and usage is kept',
  async () => {
    const before = await retried(observe);
    away(toCassandra);
    const endMs = performance.now() + RECOVERY_MS_MAX;
    let granted = 0;
    for (;;) {
      const { status } = await sendObservation();
      if (status === 503) break;
      granted += 1;
      assert.ok(performance.now() < endMs, 'calls are still admitted');
    }
    await assertClosed('without Cassandra');
    back(toCassandra);
    const after = await retried(observe);
    console.log(`${granted} granted below watermarks; ${before} left before, ${after} after`);
    assert.ok(after <= before - granted - 1, 'every granted cycle is charged');
  },
);

down('accounts of a stopped limiter get 503 in time, and other accounts are served', async () => {
  const owner = await ownerOf(cluster, someone.accountId);
  const another = await accountOfAnother(owner);
  limiter(owner).child.kill('SIGSTOP');
  await assertClosed('one limiter stopped');
  assert.is((await another.send('GET', '/personas')).status, 200);
  limiter(owner).child.kill('SIGCONT');
  await retried(observe);
});

down('every call gets 503 in time, without an engine call, if no limiter is left', async () => {
  const before = await observe();
  for (const { child, ended } of cluster.limiters.values()) {
    child.kill('SIGKILL');
    await ended;
  }
  await assertClosed('all limiters killed');
  const answer = await someone.send('GET', '/personas');
  assert.is(answer.body.details.reason, 'limiter_unavailable');
  assert.is(limitOf(answer, 'remaining'), 0);
  assert.is(limitOf(answer, 'monthly'), before, 'the header must show the last known cycles');
});

down('calls are served and usage is kept after a restart of all limiters', async () => {
  const before = limitOf(await someone.send('GET', '/personas'), 'monthly');
  await Promise.all([...cluster.limiters.keys()].map(cluster.startLimiter));
  const startedMs = performance.now();
  const after = await retried(observe);
  console.log(`served again ${Math.round(performance.now() - startedMs)} ms after both were ready`);
  assert.ok(after < before, `${after} left, and ${before} before`);
  assert.ok(after >= before - 21, 'a crash costs a quiet account more than two steps of ten');
});

down.run();

/** Asserts that calls of all kinds are refused in time, without an engine call. */
async function assertClosed(what: string): Promise<void> {
  const before = await countsNow();
  const tookMs: number[] = [];
  for (let sent = 0; sent < 20; sent += 1) {
    const startedMs = performance.now();
    const answer = await (sent % 2 === 0 ? sendObservation() : someone.send('GET', '/instances'));
    tookMs.push(performance.now() - startedMs);
    assert.is(answer.status, 503, answer.text);
    assert.is(answer.headers.get('retry-after'), '2');
  }
  const after = await countsNow();
  const inOrder = tookMs.sort((left, right) => left - right).map(Math.round);
  console.log(`${what}: refused after ${inOrder.join(' ')} ms`);
  assert.ok((inOrder[10] ?? PROMPT_MS) < PROMPT_MS, `half took ${inOrder[10]} ms`);
  assert.ok((inOrder.at(-1) ?? BUSY_MS) < BUSY_MS, `one took ${inOrder.at(-1)} ms`);
  assert.is(after.cycles, before.cycles);
  assert.is(after.asked, before.asked);
  assert.is(after.failedClosed, before.failedClosed + 20);
}

/** Waits until the edge reports NATS as connected or disconnected. */
async function untilConnected(wanted: 0 | 1): Promise<void> {
  await retried(async () => {
    assert.is(await cluster.metric(cluster.edge, 'bus_connected'), wanted);
  });
}

async function countsNow() {
  const engine = cluster.engines.get('engine');
  if (engine === undefined) throw new Error('there is no engine');
  return {
    cycles: await cluster.metric(engine, 'identity_cycles_total'),
    asked: await cluster.metric(
      cluster.edge,
      'rpc_client_call_duration_seconds_count{rpc_service="engine"',
    ),
    failedClosed: await cluster.metric(cluster.edge, 'edge_fail_closed_total'),
  };
}

function sendObservation() {
  seconds += 2;
  return someone.send('POST', `/instances/${id}/process`, { json: observationAt(seconds) });
}

/** Makes a successful observation. Returns the remaining cycles. */
async function observe(): Promise<number> {
  const answer = await sendObservation();
  assert.is(answer.status, 200, answer.text);
  return limitOf(answer, 'monthly');
}

/** Retries `action` until it does not throw. */
async function retried<Value>(action: () => Promise<Value>): Promise<Value> {
  const endMs = performance.now() + RECOVERY_MS_MAX;
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
  }
}

/**
 * Creates an account of another limiter than `owner`. Repeats refused calls, because that limiter
 * may still be reconnecting to Cassandra.
 */
async function accountOfAnother(owner: string): Promise<Caller> {
  for (;;) {
    const another = await retried(() => newCaller(cluster.service()));
    const ownerOfAnother = await retried(() => ownerOf(cluster, another.accountId));
    if (ownerOfAnother !== owner) return another;
  }
}

/** Cuts every connection of the link and refuses new connections. */
function away(link: FaultyLink): void {
  link.setOpen(false);
  link.cut();
}

function back(link: FaultyLink): void {
  link.setOpen(true);
}

function limiter(name: string): ProcessRun {
  const run = cluster.limiters.get(name);
  if (run === undefined) throw new Error(`there is no limiter ${name}`);
  return run;
}
