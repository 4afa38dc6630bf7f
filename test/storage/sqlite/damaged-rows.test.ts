import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chained, chainStart } from '#audit/chain';
import { CorruptState } from '#storage/ports/bytes';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { sqliteAccountStore, sqliteKeyUseStore } from '#storage/sqlite/accounts';
import { sqliteAuditStore, sqliteBillingStore } from '#storage/sqlite/audit';
import { sqliteFeedStore } from '#storage/sqlite/feeds';
import { sqliteListingStore } from '#storage/sqlite/listings';
import { sqliteMeterStore } from '#storage/sqlite/meters';
import { sqliteMemberStore, sqliteSessionStore, sqliteUserStore } from '#storage/sqlite/people';
import { ONE_BUCKET } from '#test/storage/cassandra/migrated-keyspace';
import { feedCheckpoint, feedHead } from '#test/storage/contracts/feed-records';
import { meterAt, monthAt } from '#test/storage/contracts/meter-records';
import { addKey } from '#test/storage/contracts/stored-keys';
import { someUser } from '#test/storage/contracts/user-store';
import { emptied, scratchFiles } from '#test/storage/sqlite/scratch-file';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

const MONTH = '2026-11';

const files = scratchFiles();
const database = files.open();
const clock = new ManualClock();

const accounts = sqliteAccountStore(database, clock);
const audit = sqliteAuditStore(database);
const billing = sqliteBillingStore(database);
const feeds = sqliteFeedStore(database, ONE_BUCKET);
const keyUses = sqliteKeyUseStore(database);
const listings = sqliteListingStore(database, clock);
const members = sqliteMemberStore(database);
const meters = sqliteMeterStore(database, ONE_BUCKET);
const sessions = sqliteSessionStore(database, clock);
const users = sqliteUserStore(database);

const USER = someUser('ada@b.c');
const LIMITS = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
const TIMES = { createdAtMs: 10, expiresAtMs: 20 };

/** Test of a table: writes one row, lists the columns to damage, and reads the row. */
type Case = {
  readonly table: string;
  readonly columns: readonly string[];
  /** Other tables that `write` fills. */
  readonly others?: readonly string[];
  readonly write: () => Promise<unknown>;
  readonly reads: readonly (() => Promise<unknown>)[];
};

const CASES: readonly Case[] = [
  {
    table: 'accounts',
    columns: ['revision', 'state'],
    async write() {
      const account = { id: 'a', name: 'A', plan: 'free', status: 'active' } as const;
      await accounts.create({ ...account, limits: LIMITS, createdAtMs: 1 });
      await addKey(accounts, 'a', { id: 'key_1', digest: 'd', scope: 'full', createdAtMs: 2 });
    },
    reads: [
      () => accounts.find('a'),
      () => accounts.list({ afterId: undefined, limit: 9 }),
      () => accounts.setStatus('a', 'suspended'),
    ],
  },
  {
    table: 'audit',
    columns: ['line', 'line_hash'],
    async write() {
      const start = chainStart('a', MONTH);
      await audit.append('a', start, chained(start, ['one']));
    },
    reads: [
      () => audit.months('a'),
      () => audit.head('a', MONTH),
      () => audit.read('a', MONTH, 9, 9),
    ],
  },
  {
    table: 'billing',
    columns: ['revision', 'state'],
    write: () => billing.put('a', 0, { customers: [], subscriptions: [], returns: [] }),
    reads: [() => billing.find('a')],
  },
  {
    table: 'billing_customers',
    columns: ['account_id'],
    others: ['billing'],
    write: () =>
      billing.put('a', 0, { customers: [{ id: 'c', atMs: 1 }], subscriptions: [], returns: [] }),
    reads: [() => billing.accountOf('c')],
  },
  {
    table: 'key_uses',
    columns: ['minute', 'address', 'client'],
    write: () =>
      keyUses.note('a', { digest: 'd', minute: 5, address: undefined, client: undefined }),
    reads: [() => keyUses.find('a')],
  },
  {
    table: 'listings',
    columns: ['version', 'name', 'description', 'created_at_ms', 'removed_at_ms'],
    async write() {
      const texts = { name: 'n', description: 'd' };
      await listings.put('a', { instanceId: 'inst_1', version: 1, ...texts, createdAtMs: 1 });
    },
    reads: [
      () => listings.find('a', 'inst_1'),
      () => listings.listed('a'),
      () => listings.load('a'),
    ],
  },
  {
    table: 'meters',
    columns: ['version', 'state'],
    write: () => meters.checkpoint([{ accountId: 'a', head: meterAt(1) }]),
    reads: [() => meters.readHead('a')],
  },
  {
    table: 'meter_months',
    columns: ['version', 'state'],
    write: () =>
      meters.checkpoint([{ accountId: 'a', head: meterAt(2, { finished: [monthAt(3)] }) }]),
    reads: [() => meters.readMonths('a')],
  },
  {
    table: 'feeds',
    columns: ['version', 'state'],
    write: () => feeds.checkpoint([{ accountId: 'a', head: feedHead(1, 3), chunks: [] }]),
    reads: [() => feeds.readHead('a')],
  },
  {
    table: 'feed_chunks',
    columns: ['chunk', 'state'],
    others: ['feeds'],
    write: () => feeds.checkpoint([feedCheckpoint('a', 1, FEED_CHUNK_ROWS)]),
    reads: [() => feeds.readChunks('a', 0, 9)],
  },
  {
    table: 'users',
    columns: ['revision', 'state'],
    write: () => users.create(USER),
    reads: [() => users.find(USER.id), () => users.findByEmail(USER.email)],
  },
  ...peopleCases(),
  {
    table: 'console_sessions',
    columns: ['created_at_ms', 'state'],
    write: () =>
      sessions.create({
        ...{ digest: 'd', userId: 'u', accountId: 'a', authenticatedBy: 'password' },
        ...{ credentialsVersion: 1, createdAtMs: clock.wallMs(), lastSeenAtMs: clock.wallMs() },
        ...{ address: '127.0.0.1', client: 'a browser' },
      }),
    reads: [() => sessions.find('u', 'd'), () => sessions.listOf('u')],
  },
];

function peopleCases(): Case[] {
  const write = async () => {
    await members.addLink({ accountId: 'a', digest: 'd', ...TIMES, kind: 'setup' });
    await members.enter({ accountId: 'a', digest: 'd', userId: 'u', atMs: 11 });
  };
  return [
    {
      table: 'account_people',
      columns: ['revision', 'state'],
      others: ['user_accounts'],
      write,
      reads: [() => members.find('a'), () => members.accountsOf('u'), () => members.close('a')],
    },
    {
      table: 'user_accounts',
      columns: [],
      others: ['account_people'],
      write,
      reads: [() => members.accountsOf('u')],
    },
  ];
}

/** SQL expression for a slightly damaged value, by column type. JSON stays valid. */
const DAMAGED: Readonly<Record<string, (column: string) => string>> = {
  INTEGER: (column) => `coalesce(${column}, 0) + 1`,
  TEXT: (column) => `coalesce(${column}, '') || ' '`,
  BLOB: () => `zeroblob(40)`,
};

const damaged = suite('a row that has changed on disk');

for (const { table, columns, others = [], write, reads } of CASES) {
  damaged(`is not served from ${table}`, async () => {
    const kinds = await kindsIn(table);
    for (const column of [...columns, 'checksum']) {
      await emptied(database, table, ...others);
      await write();
      for (const read of reads) await read();
      await emptied(database, table, ...others);
      await write();
      const value = DAMAGED[kinds.get(column) ?? '']?.(column);
      const sql = `UPDATE ${table} SET ${column} = ${value}`;
      assert.ok(
        await database.write({ operation: 'test', statements: [{ sql, values: [], changes: 1 }] }),
      );
      for (const [at, read] of reads.entries()) {
        const refusal = await refusalOf(read);
        assert.instance(refusal, CorruptState, `${column}, read ${at}: ${refusal.message}`);
      }
    }
  });
}

async function kindsIn(table: string): Promise<ReadonlyMap<string, string>> {
  const sql = `SELECT name, type FROM pragma_table_info('${table}')`;
  const rows = await database.read({ operation: 'test', sql, values: [] });
  return new Map(rows.map(([name, type]) => [String(name), String(type)]));
}

for (const part of [damaged, files.closing()]) part.run();
