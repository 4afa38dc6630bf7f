import { rmSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { openEmptyKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { admin, type Caller, newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { cassandraOrSkip, natsOrSkip, suiteUnless } from '#test/support/servers/real-servers';
import { checkedOut, earlierRelease } from '#test/upgrade/earlier-release';
import { type MixedCluster, sharedVariables, startMixedCluster } from '#test/upgrade/mixed-cluster';
import { type Part, UPGRADE_ORDER } from '#test/upgrade/release-processes';
import { type SteadyLoad, startLoad } from '#test/upgrade/steady-load';

/** Folder of the new release: this checkout. */
const PRESENT = '.';

/** Timeout of a migration, in milliseconds. */
const MIGRATION_MS_MAX = 60_000;

const from = earlierRelease();

const { address: cassandra } = cassandraOrSkip();
const { address: nats, suite } = natsOrSkip();

const servedSuite = from.kind === 'lacking' ? suiteUnless(from.why) : suite;
const upgrading = servedSuite('when a cluster is upgraded from the last release under load');
const opened = new AsyncDisposableStack();
let earlier = '';
let cluster: MixedCluster;
let caller: Caller;
let load: SteadyLoad;
let variables: Record<string, string>;
const observe = (id: string, second: number) =>
  caller.send('POST', `/instances/${id}/process`, { json: observationAt(second) });

/**
 * Number of instances to create while one of three engines is new. The probability that the new engine creates
 * none of 32 instances is (2/3)^32, about 2 in a million.
 */
const MIXED_INSTANCES = 32;

/** Instance of model 1.1. */
let laterId = '';

async function modelOf(of: Caller, id: string): Promise<string> {
  const { data } = (await of.send('GET', `/instances/${id}`)).body;
  // An engine of release 1.0 names no model.
  return data.model_version ?? '1.0';
}

upgrading.before(async () => {
  if (from.kind !== 'commit') return;
  earlier = checkedOut(from.commit);
  opened.defer(() => rmSync(earlier, { recursive: true, force: true }));
  const { name: keyspace } = opened.use(await openEmptyKeyspace(cassandra));
  const place = { cassandra, keyspace, nats };
  variables = sharedVariables(place);
  await migrated(earlier);
  cluster = opened.use(await startMixedCluster({ ...place, folder: earlier }));
  // Limiters of the last release have only the scopes `full` and `read`.
  caller = await newCaller(cluster.service(), { scope: 'full' });
  load = await startLoad(caller);
  await load.servedOn();
});
upgrading.after(async () => {
  await load.stop();
  await opened.disposeAsync();
});

async function migrated(folder: string): Promise<string> {
  const run = runMain(['migrate'], variables, MIGRATION_MS_MAX, folder);
  assert.is(await run.ended, 0, run.stderr());
  return run.stdout();
}

/**
 * Replaces the processes of these parts one after the other. The last engine crashes, so that the
 * target release recovers a journal of the other release. Calls `onReplaced` after each process.
 */
async function replaced(
  parts: readonly Part[],
  folder: string,
  onReplaced: (name: string) => Promise<void> = async () => undefined,
) {
  const { processes } = cluster;
  const crashing = processes.named('engine').at(-1);
  for (const name of parts.flatMap((part) => processes.named(part))) {
    const before = await processes.recoveredRecords(name);
    await (name === crashing ? processes.crash(name, folder) : processes.replace(name, folder));
    await load.servedOn();
    assert.equal(load.wrong, [], `after ${name}: ${processes.loggedOf(load.wrong)}`);
    const recovered = (await processes.recoveredRecords()) - before;
    assert.is(recovered > 0, name === crashing, `${recovered} records recovered from ${name}`);
    await onReplaced(name);
  }
}

upgrading('the new release migrates the tables while nodes of the old release run', async () => {
  await migrated(PRESENT);
  await load.servedOn();
  assert.equal(load.wrong, []);
});

upgrading(
  'no call fails while limiters, engines and edges are replaced, with one engine crash',
  async () => {
    const [firstEngine] = cluster.processes.named('engine');
    await replaced(UPGRADE_ORDER, PRESENT, async (name) => {
      if (name !== firstEngine) return;
      // Old engines run beside a new engine, so every instance starts with model 1.0.
      for (let count = 0; count < MIXED_INSTANCES; count += 1) {
        assert.is(await modelOf(caller, await createInstance(caller)), '1.0');
      }
    });
  },
);

upgrading(
  'new instances get model 1.1 after every engine has restarted while no old engine runs',
  async () => {
    const { processes } = cluster;
    for (const name of processes.named('engine')) await processes.replace(name, PRESENT);
    await load.servedOn();
    laterId = await createInstance(caller);
    assert.is(await modelOf(caller, laterId), '1.1');
    assert.is((await observe(laterId, 0)).status, 200);
    // Instances from before the upgrade keep their model.
    for (const id of load.acknowledged.keys()) assert.is(await modelOf(caller, id), '1.0');
  },
);

upgrading('no call fails while the upgrade is reverted in opposite order', async () => {
  assert.match(await migrated(earlier), /is there already/);
  await replaced(UPGRADE_ORDER.toReversed(), earlier);
});

upgrading(
  'an engine of the old release refuses an instance of model 1.1 and keeps its data',
  async () => {
    assert.is((await caller.send('GET', `/instances/${laterId}/snapshot`)).status, 500);
    for (const name of cluster.processes.named('engine')) {
      await cluster.processes.replace(name, PRESENT);
    }
    assert.is((await observe(laterId, 120)).body.data.snapshot.cycle, 2);
  },
);

upgrading('every acknowledged cycle is stored and charged once', async () => {
  await load.stop();
  assert.equal(load.wrong, []);
  assert.ok(load.calls > 1_000, `${load.calls} calls`);
  // The instance of model 1.1 has two cycles.
  let cycles = 2;
  for (const [id, acknowledged] of load.acknowledged) {
    const { body } = await caller.send('GET', `/instances/${id}/history?limit=1`);
    assert.is(body.pagination.total, acknowledged, id);
    cycles += acknowledged;
  }
  const path = `/accounts/${caller.accountId}/usage`;
  const usage = await admin(cluster.service(), 'GET', path);
  const { cycles_used, cycles_reserved, cycles_expired, cycles_lost } = usage;
  assert.equal([cycles_used, cycles_reserved, cycles_expired, cycles_lost], [cycles, 0, 0, 0]);
  console.log(`${load.calls} calls, ${cycles} cycles, none refused`);
});

upgrading.run();
