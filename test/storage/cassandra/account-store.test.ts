import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import type { Clock } from '#stdlib/clock';
import { cassandraAccountStore } from '#storage/cassandra/accounts';
import type { ManagedAccounts } from '#storage/ports/accounts';
import { newPrefix } from '#test/storage/cassandra/migrated-keyspace';
import { accountStoreContract } from '#test/storage/contracts/account-store';
import { keyChangesContract } from '#test/storage/contracts/key-changes';
import { managedAccountsContract } from '#test/storage/contracts/managed-accounts';
import { addKey, revokeKey } from '#test/storage/contracts/stored-keys';
import { keyspaceOfFile } from '#test/storage/sqlite/keyspace-of-file';
import { ManualClock } from '#test/support/manual-clock';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const DAY_MS = 86_400_000;

const { address, suite } = cassandraOrSkip();
const keyspace = keyspaceOfFile(address);

/** Opens a store that has no accounts, because its ids get a unique prefix. */
async function open(clock: Pick<Clock, 'wallMs'>): Promise<ManagedAccounts> {
  const { store, prefix } = await keyspace.emptyStore((session) =>
    cassandraAccountStore(session, clock),
  );
  const stripped = (account: Account) => ({ ...account, id: account.id.slice(prefix.length) });
  return {
    create: (account) => store.create({ ...account, id: prefix + account.id }),
    async find(id) {
      const found = await store.find(prefix + id);
      return found && { ...found, account: stripped(found.account) };
    },
    async list({ afterId = '', limit }) {
      const page = await store.list({ afterId: prefix + afterId, limit });
      return page.filter(({ id }) => id.startsWith(prefix)).map(stripped);
    },
    setPlan: async (id, setting) => stripped(await store.setPlan(prefix + id, setting)),
    setModel: async (id, chosen) => stripped(await store.setModel(prefix + id, chosen)),
    setRetention: async (id, own) => stripped(await store.setRetention(prefix + id, own)),
    setStatus: async (id, status) => stripped(await store.setStatus(prefix + id, status)),
    changeKeys: (id, decide) => store.changeKeys(prefix + id, decide),
    beginDeletion: (id, atMs) => store.beginDeletion(prefix + id, atMs),
    endDeletion: (id) => store.endDeletion(prefix + id),
    endImport: async (account) =>
      stripped(await store.endImport({ ...account, id: prefix + account.id })),
    async *deletedIds() {
      for await (const page of store.deletedIds()) {
        yield page.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
      }
    },
  };
}

/** Raw key rows of a partition: position, id and remaining TTL in seconds. */
async function keyRows(accountId: string): Promise<(readonly [number, string, number | null])[]> {
  const query =
    'SELECT key_position, key_id, TTL(digest) AS ttl FROM accounts WHERE account_id = ?';
  const options = { kind: 'read', operation: 'test' } as const;
  const { rows } = await (await keyspace.opened()).session.execute(query, [accountId], options);
  return rows
    .filter((row) => row['key_id'] !== null)
    .map((row) => [row['key_position'], row['key_id'], row['ttl']]);
}

async function accountWithKeys(...keys: ApiKeyRecord[]) {
  const clock = new ManualClock();
  const store = cassandraAccountStore((await keyspace.opened()).session, clock);
  const id = `${newPrefix()}a`;
  const limits = { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 };
  const base = { id, name: 'a', plan: 'free', status: 'active', limits, createdAtMs: 1 } as const;
  await store.create(base);
  for (const key of keys) await addKey(store, id, key);
  return { store, clock, id };
}

function key(id: string, expiresAtMs?: number): ApiKeyRecord {
  const createdAtMs = new ManualClock().wallMs();
  const always = { id, digest: `digest ${id}`, scope: 'full', createdAtMs } as const;
  return expiresAtMs === undefined ? always : { ...always, expiresAtMs };
}

const rows = suite('key rows in Cassandra');

rows('expire 90 days after their keys and not earlier', async () => {
  const nowMs = new ManualClock().wallMs();
  const { store, id } = await accountWithKeys(
    key('never'),
    key('soon', nowMs + 10_000),
    key('in 30 years', nowMs + 30 * 365 * DAY_MS),
    key('long ago', nowMs - 100 * DAY_MS),
  );
  const ttls = (await keyRows(id)).map(([, name, ttl]) => [name, ttl === null ? 0 : ttl]);
  const soon = ttls.find(([name]) => name === 'soon')?.[1] as number;
  assert.ok(soon > 90 * 86_400 - 60 && soon <= 90 * 86_400 + 10, `${soon} s`);
  assert.equal(
    ttls.filter(([name]) => name !== 'soon' && name !== 'long ago'),
    [
      ['never', 0],
      ['in 30 years', 0],
    ],
  );
  await revokeKey(store, id, 'soon', nowMs);
  const [, , revokedTtl] = (await keyRows(id)).find(([, name]) => name === 'soon') ?? [];
  assert.ok(Math.abs((revokedTtl ?? 0) - soon) < 60, `${revokedTtl} s after it is revoked`);
});

rows('are ignored 90 days after their keys expire, even if the rows have no TTL', async () => {
  const nowMs = new ManualClock().wallMs();
  const far = nowMs + 25 * 365 * DAY_MS;
  const { store, clock, id } = await accountWithKeys(key('1', far), key('2'), key('3', far));
  clock.advance(far + 90 * DAY_MS - nowMs);
  assert.equal((await store.find(id))?.keys, [key('2')]);
  await addKey(store, id, key('4'));
  assert.equal(
    (await keyRows(id)).map(([position, name]) => [position, name]),
    [
      [0, '1'],
      [1, '2'],
      [2, '3'],
      [3, '4'],
    ],
  );
});

rows('survive every change by a process whose clock is years ahead', async () => {
  const nowMs = new ManualClock().wallMs();
  const [first, second] = [key('1', nowMs + 30 * DAY_MS), key('2', nowMs + 5 * 365 * DAY_MS)];
  const { store, clock, id } = await accountWithKeys(first, second);
  clock.stepWall(5 * 365 * DAY_MS + DAY_MS);
  await store.setStatus(id, 'suspended');
  await revokeKey(store, id, '2', clock.wallMs());
  const secondsLeft = new Map((await keyRows(id)).map(([, name, ttl]) => [name, ttl ?? 0]));
  assert.ok((secondsLeft.get('1') ?? 0) > 119 * 86_400, `${secondsLeft.get('1')} s`);
  assert.ok((secondsLeft.get('2') ?? 0) > 5 * 365 * 86_400, `${secondsLeft.get('2')} s`);
  clock.stepWall(-5 * 365 * DAY_MS - DAY_MS);
  assert.equal((await store.find(id))?.keys[0], first, 'the first key must be found again');
});

/** The scope column, which release 1.0 reads, and the column with the scope of a limited key. */
async function scopesOf(accountId: string, keyId: string) {
  const query = 'SELECT key_id, scope, limited_scope FROM accounts WHERE account_id = ?';
  const options = { kind: 'read', operation: 'test' } as const;
  const { rows } = await (await keyspace.opened()).session.execute(query, [accountId], options);
  const row = rows.find((one) => one['key_id'] === keyId);
  return [row?.['scope'], row?.['limited_scope']];
}

rows('hide the scope of a restricted key from release 1.0', async () => {
  const { store, id } = await accountWithKeys(key('1'));
  const put = (record: ApiKeyRecord) => addKey(store, id, record);
  assert.equal(await scopesOf(id, '1'), ['full', null]);
  await put({ ...key('1'), disabledAtMs: 7 });
  assert.equal(await scopesOf(id, '1'), ['limited', 'full']);
  await put(key('1'));
  assert.equal(await scopesOf(id, '1'), ['full', null]);
  await put({ ...key('1'), scope: 'read', networks: ['10.0.0.0/8'], disabledAtMs: 7 });
  assert.equal(await scopesOf(id, '1'), ['limited', 'read']);
  await put({ ...key('1'), scope: 'read', networks: ['10.0.0.0/8'] });
  assert.equal(await scopesOf(id, '1'), ['limited', 'read']);
});

rows('keep all other values when release 1.0 revokes their key', async () => {
  const disabled = { ...key('1'), name: 'CI', networks: ['10.0.0.0/8'], disabledAtMs: 7 };
  const { store, id } = await accountWithKeys(disabled);
  const { session } = await keyspace.opened();
  // PUT_KEY of release 1.0 writes the key back as it was read.
  const insert = `INSERT INTO accounts (account_id, key_position, key_id, digest, scope,
    key_created_at_ms, revoked_at_ms, expires_at_ms) VALUES (?, 0, ?, ?, 'limited', ?, ?, ?)
    USING TTL 0`;
  const { digest, createdAtMs } = disabled;
  const update = 'UPDATE accounts SET revision = 9 WHERE account_id = ? IF revision = 1';
  await session.batch(
    [
      { query: update, params: [id] },
      { query: insert, params: [id, '1', digest, BigInt(createdAtMs), 9n, undefined] },
    ],
    { kind: 'conditional', operation: 'test' },
  );
  assert.equal((await store.find(id))?.keys, [{ ...disabled, revokedAtMs: 9 }]);
});

for (const part of accountStoreContract('Cassandra', open, suite)) part.run();
for (const part of managedAccountsContract('Cassandra', open, suite)) part.run();
for (const part of keyChangesContract('Cassandra', open, suite)) part.run();
rows.run();
keyspace.closing(suite).run();
