import { randomBytes } from 'node:crypto';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { createKeyspace, type MigrationPorts, migrate } from '#storage/cassandra/migrate';
import {
  type CassandraSession,
  type ObserveStatement,
  openSession,
} from '#storage/cassandra/session';
import { changeSchema } from '#test/storage/scratch-keyspace';

/** The data center that a single node with a simple snitch is in. */
export const DATA_CENTER = 'datacenter1';

/** What a migration needs here; it says nothing. */
export const MIGRATION: MigrationPorts = {
  clock: systemClock,
  randomness: systemRandomness,
  print: () => {},
};

/** A keyspace of one's own, dropped when disposed, with a session in it. */
export type MigratedKeyspace = AsyncDisposable & {
  readonly name: string;
  readonly session: CassandraSession;
};

let prefixes = 0;

/** The bucket of all actors in tests that are not about buckets. */
export const ONE_BUCKET = () => 7;

/** A session at `address` (`host:port`), in a keyspace or in none. */
export function sessionIn(
  address: string,
  keyspace: string | undefined,
  observe: ObserveStatement = () => {},
): Promise<CassandraSession> {
  const where = { contactPoints: [address], localDataCenter: DATA_CENTER, keyspace };
  return openSession({ ...where, clock: systemClock, observe });
}

/** Makes a keyspace without any table; `observe` hears of the statements sent to it. */
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

/** Makes a keyspace with all tables, as a migration leaves it. */
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

/** A text that no other id in this file begins with: what is stored under it is a store of its own. */
export function newPrefix(): string {
  prefixes += 1;
  return `p${prefixes}_`;
}
