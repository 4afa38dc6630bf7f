import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import {
  type CassandraSession,
  openSession,
  type SessionOptions,
} from '#storage/cassandra/session';
import { openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { DATA_CENTER } from '#test/storage/cassandra/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { clientOf } from '#test/support/servers/server-certificates';
import { settable } from '#test/support/settable';
import { refusalOf } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();

/** Maximum wait for a connection in milliseconds, longer than any reconnection delay. */
const PATIENCE_MS = 30_000;

/** Time for several connection attempts in milliseconds. Attempts are half a second apart. */
const SOME_TRIES_MS = 2_000;

type Difference = Pick<SessionOptions, 'tls' | 'credentials'>;

function sessionAt(contactPoint: string, difference: Difference): Promise<CassandraSession> {
  const place = { contactPoints: [contactPoint], localDataCenter: DATA_CENTER };
  return openSession({ ...place, keyspace: undefined, clock: systemClock, ...difference });
}

async function read(session: CassandraSession): Promise<string> {
  const options = { kind: 'read', operation: 'test_read', timeoutMs: 2_000 } as const;
  const { rows } = await session.execute('SELECT release_version FROM system.local', [], options);
  return String(rows[0]?.['release_version']);
}

async function eventually(what: string, attempt: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const isDone = await attempt().then(
      () => true,
      () => false,
    );
    if (isDone) return;
    if (performance.now() > endMs) assert.unreachable(`not in time: ${what}`);
    await sleep(100);
  }
}

const certificates = suite('when the certificates for Cassandra change');

for (const [what, useless] of [
  ['shows', { ...clientOf('member'), own: clientOf('stranger').own }],
  ['trusts', { ...clientOf('stranger'), own: clientOf('member').own }],
] as const) {
  certificates(`new files that a session ${what} are used by its next connections`, async () => {
    await using link = await openFaultyLink(address);
    const client = settable(clientOf('member'));
    const tls = { client, serverName: undefined };
    await using session = await sessionAt(link.address, { tls });
    client.set(useless);
    assert.match(await read(session), /^5\.0/);
    link.cut();
    await sleep(SOME_TRIES_MS);
    await refusalOf(() => read(session));
    client.set(clientOf('edge'));
    await eventually('the session is back', () => read(session));
  });
}

/** Default superuser of a new Cassandra. */
const SUPERUSER = { username: 'cassandra', password: 'cassandra' };
const [FIRST, NEXT] = ['the first password', 'the next password'];

const password = suite('when the Cassandra password changes');

password('new connections use the new password, and open connections stay open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-passwords-'));
  const credentials = unchanging(SUPERUSER);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startCassandra({
    folder,
    logFolder: folder,
    heapMb: 512,
    settings: {
      authenticator: 'PasswordAuthenticator',
      authorizer: 'AllowAllAuthorizer',
      credentials_validity: '0ms',
    },
    ask: async (at) => {
      await using session = await sessionAt(at, { credentials });
      await read(session);
    },
  });
  stack.defer(() => server.stop());
  await using superuser = await sessionAt(server.address, { credentials });
  const administer = (query: string) =>
    superuser.execute(query, [], { kind: 'schema', operation: 'test_schema', timeoutMs: 10_000 });
  await administer(`CREATE ROLE engine WITH LOGIN = true AND PASSWORD = '${FIRST}'`);
  await using link = await openFaultyLink(server.address);
  const shown = settable({ username: 'engine', password: FIRST });
  await using session = await sessionAt(link.address, { credentials: shown });
  shown.set({ username: 'engine', password: NEXT });
  assert.match(await read(session), /^5\.0/);
  link.cut();
  await sleep(SOME_TRIES_MS);
  await refusalOf(() => read(session));
  await administer(`ALTER ROLE engine WITH PASSWORD = '${NEXT}'`);
  await eventually('the session is back', () => read(session));
});

for (const each of [certificates, password]) each.run();
