import { rmSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { openEmptyKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { admin, type Caller, newCaller } from '#test/support/calls/caller';
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
 * new release recovers a journal of the old release.
 */
async function replaced(parts: readonly Part[], folder: string) {
  const { processes } = cluster;
  const crashing = processes.named('engine').at(-1);
  for (const name of parts.flatMap((part) => processes.named(part))) {
    const before = await processes.recoveredRecords(name);
    await (name === crashing ? processes.crash(name, folder) : processes.replace(name, folder));
    await load.servedOn();
    assert.equal(load.wrong, [], `after ${name}: ${processes.loggedOf(load.wrong)}`);
    const recovered = (await processes.recoveredRecords()) - before;
    assert.is(recovered > 0, name === crashing, `${recovered} records recovered from ${name}`);
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
    await replaced(UPGRADE_ORDER, PRESENT);
  },
);

upgrading('no call fails while the upgrade is reverted in opposite order', async () => {
  assert.match(await migrated(earlier), /is there already/);
  await replaced(UPGRADE_ORDER.toReversed(), earlier);
});

upgrading('every acknowledged cycle is stored and charged once', async () => {
  await load.stop();
  assert.equal(load.wrong, []);
  assert.ok(load.calls > 1_000, `${load.calls} calls`);
  let cycles = 0;
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
