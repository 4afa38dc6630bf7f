import * as assert from 'uvu/assert';
import { checkCharges } from '#test/chaos/checks/charges';
import { Findings } from '#test/chaos/checks/findings';
import { checkQuota } from '#test/chaos/checks/quota';
import { killOwners } from '#test/chaos/faults/kill-owners';
import { finalUsagesOf } from '#test/chaos/load/account-usage';
import { CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { type QuotaDemand, QuotaLoad } from '#test/chaos/load/quota-load';
import { adminTokenFile } from '#test/support/calls/admin-token';
import { type Answer, type Caller, newCaller } from '#test/support/calls/caller';
import { ownerOf } from '#test/support/servers/limiter-owner';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Small version of `make chaos ARGS="--only quota"`. */
const DEMAND: QuotaDemand = {
  quota: 3_000,
  clients: 10,
  cyclesWanted: 4_500,
  cyclesPerSecond: 150,
  cyclesPerCall: 1,
  kills: 3,
  shareMin: 0.85,
};

let cluster: OwnCluster;

const exact = suite('with two limiters');

exact.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['engine'], { limiters: ['a', 'b'] });
});
exact.after(async () => {
  await cluster[Symbol.asyncDispose]();
});

exact('exactly 60 of 1,000 concurrent calls succeed with a limit of 60 per minute', async () => {
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

exact('at most 60 of 1,000 calls in 4 s succeed after a kill of the limiter', async () => {
  const someone = await loadedAccount({ requestsPerMinute: 60 });
  const owner = await ownerOf(cluster, someone.accountId);
  const { isReached, hear } = countdown(20);
  const pending = many(someone, 1_000, 4_000, hear);
  await isReached;
  await kill(owner);
  const statuses = await pending;
  assert.ok((tallyOf(statuses).get(503) ?? 0) > 0, 'the kill happened during the calls');
  const deadlineMs = performance.now() + 10_000;
  let later: Answer;
  do {
    later = await someone.send('GET', '/personas');
    statuses.push(later.status);
    assert.ok(performance.now() < deadlineMs, 'no limiter has taken over the account');
  } while (later.status === 503);
  statuses.push(...(await many(someone, 100)));
  const granted = tallyOf(statuses).get(200) ?? 0;
  console.log(`of 60 requests ${granted} were granted`);
  assert.ok(granted >= 20 && granted <= 60, `${granted} were granted`);
  await cluster.startLimiter(owner);
});

exact('a quota is exhausted but never exceeded after three kills of the limiter', async () => {
  const { accountId, key } = await newCaller(cluster.service(), { cyclesPerMonth: DEMAND.quota });
  const engine = cluster.engines.get('engine');
  if (engine === undefined) throw new Error('there is no engine');
  const before = await cluster.metric(engine, 'identity_cycles_total');
  using caller = new EdgeCaller([new URL(cluster.service().api).origin]);
  const account = { accountId, apiKey: key };
  const load = new QuotaLoad({ log: new CallLog(), caller, account }, DEMAND);
  const restart = async () => {
    const owner = await ownerOf(cluster, accountId);
    await kill(owner);
    await cluster.startLimiter(owner);
  };
  const [, kills] = await Promise.all([load.run(), killOwners(load, DEMAND, restart)]);
  const committed = (await cluster.metric(engine, 'identity_cycles_total')) - before;
  const { acknowledged, refused } = load;
  const [usage] = await finalUsagesOf(cluster.service().adminUrl, [accountId], adminTokenFile());
  if (usage === undefined) throw new Error('no limiter reports the usage');
  console.log(`of ${DEMAND.quota} cycles ${committed} were executed, ${acknowledged} acknowledged`);
  const findings = new Findings();
  checkCharges([usage], new Map([[accountId, committed]]), findings);
  const use = { committed, acknowledged, usage, refusedClients: refused.size, kills };
  checkQuota(DEMAND, use, findings);
  assert.equal(findings.lines, []);
});

exact.run();

/** Creates an account whose meter is in the limiter's memory. */
async function loadedAccount(plan: { requestsPerMinute: number }): Promise<Caller> {
  const someone = await newCaller(cluster.service(), plan);
  await ownerOf(cluster, someone.accountId);
  return someone;
}

/**
 * Makes `count` calls, spread over `overMs`, without waiting for answers. Returns the statuses.
 */
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

/** Resolves after `count` successful calls. */
function countdown(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const hear = (status: number): void => {
    if (status === 200) left -= 1;
    if (left === 0) resolve();
  };
  return { isReached: promise, hear };
}

async function kill(name: string): Promise<void> {
  const run = cluster.limiters.get(name);
  run?.child.kill('SIGKILL');
  await run?.ended;
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
