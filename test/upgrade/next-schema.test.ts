import * as assert from 'uvu/assert';
import { knownVersions, migrate } from '#storage/cassandra/migrate';
import type { SchemaVersion } from '#storage/ports/schema-versions';
import { MIGRATION, sessionIn } from '#test/storage/migrated-keyspace';
import { type OwnCluster, startOwnCluster } from '#test/support/own-cluster';
import { runMain } from '#test/support/process-run';
import { cassandraOrSkip, natsOrSkip } from '#test/support/real-servers';
import { type SteadyLoad, startLoad } from '#test/upgrade/steady-load';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

const known = knownVersions();

/** What a release to come adds: a table, and columns where every process reads and writes. */
const ADDING: SchemaVersion = {
  version: known.length + 1,
  programsFrom: known.length,
  statements: [
    'CREATE TABLE IF NOT EXISTS later (a int PRIMARY KEY)',
    ...['accounts', 'heads', 'journal', 'meters', 'shards'].map(
      (table) => `ALTER TABLE ${table} ADD IF NOT EXISTS later text`,
    ),
  ],
};

/** And what one adds behind it that older programs do not bear. */
const CHANGING: SchemaVersion = {
  version: known.length + 2,
  statements: ['ALTER TABLE later ADD IF NOT EXISTS b int'],
};

let cluster: OwnCluster;
let load: SteadyLoad;

const coming = suite('when the tables of a release to come are made beside nodes of this one');

coming.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b']);
  load = await startLoad(cluster.caller);
});
coming.after(async () => {
  await load.stop();
  await cluster[Symbol.asyncDispose]();
});

/** Runs the migration of a release that knows these versions besides. */
async function migratedBy(...later: readonly SchemaVersion[]): Promise<void> {
  await using session = await sessionIn(cassandra, cluster.keyspace);
  await migrate(session, { ...MIGRATION, versions: [...known, ...later] });
}

/** Until the load has made `calls` calls more, each of them answered as it should be. */
async function servedOn(calls = 200): Promise<void> {
  const end = load.calls + calls;
  while (load.calls < end && load.wrong.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(load.wrong, []);
}

coming('what was added disturbs no call, and a node of this release starts beside it', async () => {
  await servedOn();
  await migratedBy(ADDING);
  await servedOn();
  await cluster.startEngine('c');
  const leaving = cluster.engines.get('a');
  leaving?.child.kill('SIGTERM');
  assert.is(await leaving?.ended, 0, leaving?.stderr());
  await servedOn();
});

coming('what it does not bear leaves nodes that run alone, and refuses others', async () => {
  await migratedBy(ADDING, CHANGING);
  await servedOn();
  const refused = runMain(['engine'], { ...cluster.variables, SERVICE_NODE_NAME: 'd' });
  assert.is(await refused.ended, 1);
  const expected =
    /the tables are of version \d+, this program knows up to \d+: run a newer one\n$/;
  assert.match(refused.stderr(), expected);
  await servedOn();
});

coming.run();
