import { randomBytes } from 'node:crypto';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { createKeyspace, type MigrationPorts, migrate } from '#storage/cassandra/migrate';
import {
  type CassandraSession,
  type ObserveStatement,
  openSession,
} from '#storage/cassandra/session';
import { changeSchema } from '#test/storage/cassandra/scratch-keyspace';

/** Data center of a single node with a simple snitch. */
export const DATA_CENTER = 'datacenter1';

/** Ports of a migration, without output. */
export const MIGRATION: MigrationPorts = {
  clock: systemClock,
  randomness: systemRandomness,
  print: () => {},
};

/** A keyspace with a session. Disposal drops the keyspace. */
export type MigratedKeyspace = AsyncDisposable & {
  readonly name: string;
  readonly session: CassandraSession;
};

let prefixes = 0;

/** Single bucket, for tests in which buckets do not matter. */
export const ONE_BUCKET = () => 7;

/** A session at `address` (`host:port`), with or without a keyspace. */
export function sessionIn(
  address: string,
  keyspace: string | undefined,
  observe: ObserveStatement = () => {},
): Promise<CassandraSession> {
  const where = { contactPoints: [address], localDataCenter: DATA_CENTER, keyspace };
  return openSession({ ...where, clock: systemClock, observe });
}

/** Creates an empty keyspace. `observe` receives the statements of its session. */
export async function openEmptyKeyspace(
  address: string,
  observe?: ObserveStatement,
): Promise<MigratedKeyspace> {
  await using opening = new AsyncDisposableStack();
  const name = `test_${randomBytes(6).toString('hex')}`;
  const owner = opening.use(await sessionIn(address, undefined));
  await createKeyspace(owner, name, { kind: 'simple', factor: 1 });
  opening.defer(() => changeSchema(owner, `DROP KEYSPACE ${name}`));
  const session = opening.use(await sessionIn(address, name, observe));
  const opened = opening.move();
  return { name, session, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Creates a keyspace with all tables by a migration. */
export async function openMigratedKeyspace(
  address: string,
  observe?: ObserveStatement,
): Promise<MigratedKeyspace> {
  await using opening = new AsyncDisposableStack();
  const keyspace = opening.use(await openEmptyKeyspace(address, observe));
  await migrate(keyspace.session, MIGRATION);
  opening.move();
  return keyspace;
}

/** A unique id prefix, which separates the data of tests. */
export function newPrefix(): string {
  prefixes += 1;
  return `p${prefixes}_`;
}
