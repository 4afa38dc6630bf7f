import * as assert from 'uvu/assert';
import { knownVersions, migrate } from '#storage/cassandra/migrate';
import type { SchemaVersion } from '#storage/ports/schema-versions';
import { MIGRATION, sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';
import { type SteadyLoad, startLoad } from '#test/upgrade/steady-load';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

const known = knownVersions();

/** Compatible changes of a later release: a new table, and new columns in busy tables. */
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

/** A later incompatible change. */
const CHANGING: SchemaVersion = {
  version: known.length + 2,
  statements: ['ALTER TABLE later ADD IF NOT EXISTS b int'],
};

let cluster: OwnCluster;
let load: SteadyLoad;

const coming = suite('when a later release migrates the tables of a running cluster');

coming.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b']);
  load = await startLoad(cluster.caller);
});
coming.after(async () => {
  await load.stop();
  await cluster[Symbol.asyncDispose]();
});

/** Runs the migration of a release with these additional versions. */
async function migratedBy(...later: readonly SchemaVersion[]): Promise<void> {
  await using session = await sessionIn(cassandra, cluster.keyspace);
  await migrate(session, { ...MIGRATION, versions: [...known, ...later] });
}

/** Waits for `calls` more correct answers of the load. */
async function servedOn(calls = 200): Promise<void> {
  const end = load.calls + calls;
  while (load.calls < end && load.wrong.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(load.wrong, []);
}

coming('compatible changes disturb no call, and nodes of this release can start', async () => {
  await servedOn();
  await migratedBy(ADDING);
  await servedOn();
  await cluster.startEngine('c');
  const leaving = cluster.engines.get('a');
  leaving?.child.kill('SIGTERM');
  assert.is(await leaving?.ended, 0, leaving?.stderr());
  await servedOn();
});

coming('incompatible changes disturb no call, but this release cannot start nodes', async () => {
  await migratedBy(ADDING, CHANGING);
  await servedOn();
  const refused = runMain(['engine'], { ...cluster.variables, SERVICE_NODE_NAME: 'd' });
  assert.is(await refused.ended, 1);
  const expected =
    /the tables are of version \d+, this program knows up to \d+: run a newer release\n$/;
  assert.match(refused.stderr(), expected);
  await servedOn();
});

coming.run();
