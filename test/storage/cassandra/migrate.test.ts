import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { assertSchema, createKeyspace, knownVersions, migrate } from '#storage/cassandra/migrate';
import { serverProblems } from '#storage/cassandra/server-settings';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { type SchemaVersion, versionsIn } from '#storage/ports/schema-versions';
import {
  DATA_CENTER,
  MIGRATION,
  openEmptyKeyspace,
  openMigratedKeyspace,
  sessionIn,
} from '#test/storage/cassandra/migrated-keyspace';
import { changeSchema } from '#test/storage/cassandra/scratch-keyspace';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();

const TABLES =
  `account_ids account_people accounts answers audit audit_months billing billing_customers
  cluster_facts console_sessions drift feed_chunks feeds heads history index_parts journal journals key_uses
  listings meter_months meters schema_versions seals shards states user_accounts user_emails users
  webhook_accounts`.split(/\s+/);

async function messageOf(pending: Promise<unknown>): Promise<string> {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, Fault);
  assert.is((error as Fault).code, 'conflict');
  return (error as Fault).message;
}

async function tablesIn(session: CassandraSession): Promise<string[]> {
  const query = 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?';
  const options: StatementOptions = { kind: 'read', operation: 'test_read' };
  const { rows } = await session.execute(query, [session.keyspace], options);
  return rows.map((row): string => row['table_name']);
}

async function holdLock(session: CassandraSession, seconds: number): Promise<void> {
  const query = `UPDATE schema_versions USING TTL ${seconds} SET lock_holder = 'another'
    WHERE component = 'tables' IF lock_holder = null`;
  await session.execute(query, [], { kind: 'conditional', operation: 'test_lock' });
}

const text = suite('the text of a schema');

text('is parsed into versions and statements, without comments', () => {
  const versions = versionsIn(
    '-- all\n\n-- version 1\nCREATE A (\n  x int -- so\n);\nCREATE B;\n-- version 2\nALTER A;\n' +
      '-- version 3, for programs from 2\nALTER B;\n',
  );
  assert.equal(versions, [
    { version: 1, statements: ['CREATE A (\n  x int\n)', 'CREATE B'] },
    { version: 2, statements: ['ALTER A'] },
    { version: 3, statements: ['ALTER B'], programsFrom: 2 },
  ]);
});

text('requires consecutive versions and terminated statements', () => {
  assert.throws(() => versionsIn('-- version 2\nCREATE A;\n'), /out of sequence/);
  assert.throws(() => versionsIn('CREATE A;\n'), /precedes the first version/);
  assert.throws(() => versionsIn('-- version 1\nCREATE A\n'), /does not end with a semicolon/);
});

text('has only statements that can be repeated (IF NOT EXISTS)', () => {
  for (const { statements } of knownVersions()) {
    for (const statement of statements) assert.match(statement, /IF NOT EXISTS/);
  }
});

const migration = suite('a migration');

migration('creates every table, and changes nothing when repeated', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  assert.match(await messageOf(assertSchema(session)), /no tables yet.*run main\.ts migrate/);
  const lines: string[] = [];
  const ports = { ...MIGRATION, print: (line: string) => void lines.push(line) };
  await migrate(session, ports);
  assert.equal(await tablesIn(session), TABLES);
  await assertSchema(session);
  await migrate(session, ports);
  const newest = knownVersions().length;
  assert.is(lines.at(-1), `schema version ${newest} is already applied`);
  assert.is(lines.length, newest + 1);
});

migration('continues after an interruption', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  const [first] = knownVersions();
  for (const statement of first?.statements.slice(0, 3) ?? [])
    await changeSchema(session, statement);
  await migrate(session, MIGRATION);
  await assertSchema(session);
});

migration('applies only new versions, in order', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  const one = { version: 1, statements: ['CREATE TABLE one (a int PRIMARY KEY)'] };
  const two = { version: 2, statements: ['ALTER TABLE one ADD b int'] };
  await migrate(session, { ...MIGRATION, versions: [one] });
  await migrate(session, { ...MIGRATION, versions: [one, two] });
  await migrate(session, { ...MIGRATION, versions: [one, two] });
  await session.execute('SELECT a, b FROM one', [], { kind: 'read', operation: 'test_read' });
});

migration('is applied by only one of several concurrent runs', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const lines: string[] = [];
  // A second run of this statement would fail.
  const versions = [{ version: 1, statements: ['CREATE TABLE one (a int PRIMARY KEY)'] }];
  const ports = { ...MIGRATION, versions, print: (line: string) => void lines.push(line) };
  await Promise.all(
    [1, 2, 3].map(async () => {
      await using session = await sessionIn(address, keyspace.name);
      await migrate(session, ports);
    }),
  );
  const present = 'schema version 1 is already applied';
  assert.equal(lines, ['schema version 1 applied', present, present]);
});

migration('waits for another run, and takes over if that run is dead', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  await migrate(session, { ...MIGRATION, versions: [] });
  await holdLock(session, 2);
  const startedMs = performance.now();
  await migrate(session, { ...MIGRATION, versions: [] });
  assert.ok(performance.now() - startedMs > 1_000);
});

migration('rejects tables of a newer version, like a starting process', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  await migrate(session, { ...MIGRATION, versions: [] });
  const query = `INSERT INTO schema_versions (component, version) VALUES ('tables', 99) IF NOT EXISTS`;
  await session.execute(query, [], { kind: 'conditional', operation: 'test_version' });
  const expected =
    /the tables are of version 99, this program knows up to \d+: run a newer release/;
  assert.match(await messageOf(assertSchema(session)), expected);
  assert.match(await messageOf(migrate(session, MIGRATION)), expected);
});

/** A keyspace after the migrations of several programs, oldest first. */
async function migratedBy(...programs: (readonly SchemaVersion[])[]) {
  const keyspace = await openEmptyKeyspace(address);
  for (const versions of programs) await migrate(keyspace.session, { ...MIGRATION, versions });
  return keyspace;
}

const ONE = { version: 1, statements: ['CREATE TABLE one (a int PRIMARY KEY)'] };
const ADDED = { version: 2, statements: ['ALTER TABLE one ADD b int'], programsFrom: 1 };
const CHANGED = { version: 3, statements: ['DROP TABLE one'] };

migration('lets older programs start without changes if it is compatible with them', async () => {
  await using keyspace = await migratedBy([ONE], [ONE, ADDED]);
  const { session } = keyspace;
  await assertSchema(session, [ONE]);
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  await migrate(session, { ...MIGRATION, versions: [ONE], print });
  assert.equal(lines, ['schema version 2 is already applied']);
});

migration(
  'keeps older programs out if it is incompatible, even after compatible ones',
  async () => {
    await using keyspace = await migratedBy([ONE, ADDED, CHANGED]);
    const expected = /the tables are of version 3, this program knows up to 2: run a newer release/;
    assert.match(await messageOf(assertSchema(keyspace.session, [ONE, ADDED])), expected);
    await assertSchema(keyspace.session, [ONE, ADDED, CHANGED]);
  },
);

migration('continues from tables without compatibility information', async () => {
  await using keyspace = await migratedBy([ONE]);
  const { session } = keyspace;
  await changeSchema(session, 'ALTER TABLE schema_versions DROP programs_from');
  const expected = /the tables are of version 1, version 2 is needed: run main\.ts migrate/;
  assert.match(await messageOf(assertSchema(session, [ONE, ADDED])), expected);
  await migrate(session, { ...MIGRATION, versions: [ONE, ADDED] });
  await assertSchema(session, [ONE]);
});

migration('rejects tables from before the first release, like a starting process', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session } = keyspace;
  await migrate(session, { ...MIGRATION, versions: [] });
  const query = `INSERT INTO schema_versions (component, version) VALUES ('storage', 3) IF NOT EXISTS`;
  await session.execute(query, [], { kind: 'conditional', operation: 'test_version' });
  const expected =
    /from before the first release.*: drop it \(DROP KEYSPACE \w+\), or name a new one$/;
  assert.match(await messageOf(assertSchema(session)), expected);
  assert.match(await messageOf(migrate(session, MIGRATION)), expected);
});

migration('rejects invalid keyspace names, replication factors and data centers', async () => {
  await using session = await sessionIn(address, undefined);
  const simple = { kind: 'simple', factor: 1 } as const;
  for (const name of ['', 'Upper', 'a b', "a'", 'a'.repeat(49)]) {
    await rejects(createKeyspace(session, name, simple), RangeError);
  }
  await rejects(createKeyspace(session, 'test_x', { ...simple, factor: 0 }), RangeError);
  const injected = { kind: 'by_data_center', factors: { "dc'": 3 } } as const;
  await rejects(createKeyspace(session, 'test_x', injected), RangeError);
});

const settings = suite('the settings of a server');

settings('are correct on the test server except for the replication factor', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const problems = await serverProblems(keyspace.session, keyspace.name, DATA_CENTER);
  assert.is(problems.length, 1, problems.join('\n'));
  assert.match(problems[0] ?? '', /keeps 1 copies in data center datacenter1, not 3/);
});

settings('include the replicas of the used data center', async () => {
  await using keyspace = await openEmptyKeyspace(address);
  const { session, name } = keyspace;
  const factors = { class: 'NetworkTopologyStrategy', [DATA_CENTER]: '3' };
  const replication = JSON.stringify(factors).replaceAll('"', "'");
  await changeSchema(session, `ALTER KEYSPACE ${name} WITH replication = ${replication}`);
  assert.equal(await serverProblems(session, name, DATA_CENTER), []);
  assert.match((await serverProblems(session, name, 'moon'))[0] ?? '', /keeps 0 copies/);
  assert.match((await serverProblems(session, 'nowhere', DATA_CENTER))[0] ?? '', /not exist/);
});

settings('are reported for tables changed by hand', async () => {
  await using keyspace = await openMigratedKeyspace(address);
  const { session, name } = keyspace;
  await changeSchema(session, "ALTER TABLE journal WITH read_repair = 'NONE'");
  await changeSchema(session, 'ALTER TABLE heads WITH default_time_to_live = 60');
  const problems = (await serverProblems(session, name, DATA_CENTER)).filter(
    (problem) => !problem.includes('copies'),
  );
  assert.is(problems.length, 2, problems.join('\n'));
  const text = problems.join('\n');
  assert.match(text, /\.journal: read_repair is NONE, not BLOCKING/);
  assert.match(text, /\.heads: default_time_to_live is 60, not 0/);
});

settings('are reported with their server if unsafe', async () => {
  const rows = [{ name: 'commitlog_sync', value: 'periodic' }];
  const session = {
    executeOnEach: async () => [
      { server: '10.0.0.7:9042', outcome: { status: 'fulfilled', value: { rows } } },
    ],
    execute: async (query: string) => ({
      rows: query.includes('tables') ? [] : [{ replication: { [DATA_CENTER]: '3' } }],
    }),
  };
  const problems = await serverProblems(session as unknown as CassandraSession, 'x', DATA_CENTER);
  assert.is(problems.length, 2);
  assert.match(problems[0] ?? '', /10\.0\.0\.7:9042: paxos_variant is unknown, not v2/);
  assert.match(problems[1] ?? '', /10\.0\.0\.7:9042: commitlog_sync is periodic, not batch/);
});

for (const part of [text, migration, settings]) part.run();

async function rejects(pending: Promise<unknown>, kind: typeof RangeError): Promise<void> {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, kind);
}
