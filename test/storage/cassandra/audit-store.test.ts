import * as assert from 'uvu/assert';
import { chained, chainStart } from '#audit/chain';
import { cassandraAuditStore } from '#storage/cassandra/audit';
import { openFaultyLink } from '#test/storage/cassandra/faulty-link';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { auditStoreContract } from '#test/storage/contracts/audit-store';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { faultIn } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

async function open() {
  const { store, prefix } = await keyspace.emptyStore(cassandraAuditStore);
  return { store, account: prefix };
}

const cut = suite('audit trails in an unreachable Cassandra');

cut('fail every call with service_unavailable', async () => {
  await using link = await openFaultyLink(address);
  await using session = await sessionIn(link.address, (await keyspace.opened()).name);
  const store = cassandraAuditStore(session);
  const start = chainStart('cut', '2026-11');
  assert.is(await store.append('cut', start, chained(start, ['one'])), true);
  link.setOpen(false);
  link.cut();
  const fault = await faultIn(store.append('cut', start, chained(start, ['two'])));
  assert.is(fault.code, 'service_unavailable');
  assert.is((await faultIn(store.head('cut', '2026-11'))).code, 'service_unavailable');
});

for (const part of [auditStoreContract('Cassandra', open, suite), cut]) part.run();
keyspace.closing(suite).run();
