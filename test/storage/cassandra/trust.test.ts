import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import type { SessionTls } from '#storage/cassandra/driver';
import { openSession } from '#storage/cassandra/session';
import { DATA_CENTER } from '#test/storage/cassandra/migrated-keyspace';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { clientOf } from '#test/support/servers/server-certificates';
import { refusalOf } from '#test/support/settled';

/*
 * The test server accepts plain text and TLS on one port, has the certificate of `store` with names
 * 127.0.0.1 and store.internal, and requires client certificates.
 */
const { address, suite } = cassandraOrSkip();

const member = clientOf('member');

async function versionWith(tls: SessionTls): Promise<string> {
  const place = { contactPoints: [address], localDataCenter: DATA_CENTER, keyspace: undefined };
  await using session = await openSession({ ...place, clock: systemClock, tls });
  const options = { kind: 'read', operation: 'test_read', timeoutMs: 2_000 } as const;
  const { rows } = await session.execute('SELECT release_version FROM system.local', [], options);
  return String(rows[0]?.['release_version']);
}

const trusted = suite('a Cassandra with a certificate of the trusted authority');

trusted('answers at its address and under the configured name', async () => {
  assert.match(await versionWith({ client: unchanging(member), serverName: undefined }), /^5\.0/);
  assert.match(
    await versionWith({ client: unchanging(member), serverName: 'store.internal' }),
    /^5\.0/,
  );
});

const refused = suite('a session is refused');

for (const [circumstance, tls, why] of [
  [
    'by a server of another authority',
    { client: { ...clientOf('stranger'), own: member.own } },
    /unable to verify/,
  ],
  [
    'by a server of another name',
    { client: member, serverName: 'other.internal' },
    /does not match certificate/,
  ],
  [
    'for a client without a certificate',
    { client: { ...member, own: undefined } },
    /certificate required/,
  ],
  [
    'for a client of another authority',
    { client: { ...member, own: clientOf('stranger').own } },
    /SSL alert/,
  ],
] as const) {
  refused(circumstance, async () => {
    const { message } = await refusalOf(() =>
      versionWith({ serverName: undefined, ...tls, client: unchanging(tls.client) }),
    );
    assert.match(message, /^no Cassandra can be used at /);
    assert.match(message, why);
  });
}

for (const part of [trusted, refused]) part.run();
