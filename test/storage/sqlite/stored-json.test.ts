import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import type { EntryLink, Session } from '#accounts/people';
import type { BillingRecord } from '#storage/ports/billing';
import { sqliteAccountStore } from '#storage/sqlite/accounts';
import { sqliteBillingStore } from '#storage/sqlite/audit';
import { sqliteMemberStore, sqliteSessionStore, sqliteUserStore } from '#storage/sqlite/people';
import { addKey } from '#test/storage/contracts/stored-keys';
import { someUser } from '#test/storage/contracts/user-store';
import { scratchFiles } from '#test/storage/sqlite/scratch-file';
import { ManualClock } from '#test/support/manual-clock';

/*
 * Field names in users' files. If a field were renamed, its content would be lost. Fields may only
 * be added.
 */

const LIMITS = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };

const files = scratchFiles();
const database = files.open();
const json = suite('the JSON in a file');

async function stored(table: string): Promise<unknown> {
  const sql = `SELECT state FROM ${table}`;
  const rows = await database.read({ operation: 'test', sql, values: [] });
  return rows.map(([state]) => state);
}

json('of an account has these field names, including its keys', async () => {
  const accounts = sqliteAccountStore(database, new ManualClock());
  const account: Account = {
    ...{ id: 'a', name: 'A', plan: 'pro', status: 'active', limits: LIMITS },
    planChange: { plan: 'free', limits: LIMITS, atMs: 9, from: 'indie' },
    ...{ modelVersion: '1.0', retention: 'none', createdAtMs: 1 },
  };
  const key: ApiKeyRecord = {
    ...{ id: 'key_1', digest: 'd', scope: 'read', createdAtMs: 2, revokedAtMs: 3 },
    ...{ expiresAtMs: Date.UTC(2090, 0), name: 'n', hint: 'ab12', networks: ['10.0.0.0/8'] },
    ...{ disabledAtMs: 7, replacedBy: 'key_2' },
  };
  await accounts.create(account);
  await addKey(accounts, 'a', key);
  const limits = '{"requestsPerMinute":1,"cyclesPerMonth":2,"instances":3}';
  assert.equal(await stored('accounts'), [
    `{"account":{"id":"a","name":"A","plan":"pro","status":"active","limits":${limits},` +
      `"planChange":{"plan":"free","limits":${limits},"atMs":9,"from":"indie"},` +
      '"modelVersion":"1.0","retention":"none","createdAtMs":1},' +
      '"keys":[{"id":"key_1","digest":"d","scope":"read","createdAtMs":2,"revokedAtMs":3,' +
      '"expiresAtMs":3786912000000,"name":"n","hint":"ab12","networks":["10.0.0.0/8"],' +
      '"disabledAtMs":7,"replacedBy":"key_2"}]}',
  ]);
  await accounts.beginDeletion('a', 5);
  await accounts.endDeletion('a');
  assert.equal(await stored('accounts'), [null], 'only the id is left');
});

json('of a user has these field names', async () => {
  const users = sqliteUserStore(database);
  const secondFactor = { state: 'active', sealedSecret: 's', lastStep: 7 } as const;
  const lists = { recoveryDigests: ['r'], deviceDigests: ['d'] };
  await users.create(someUser('a@b.c', { id: 'usr_1', secondFactor, ...lists }));
  assert.equal(await stored('users'), [
    '{"id":"usr_1","email":"a@b.c","name":"Ada","passwordHash":"hash","credentialsVersion":1,' +
      '"recoveryDigests":["r"],"deviceDigests":["d"],"createdAtMs":5,' +
      '"secondFactor":{"state":"active","sealedSecret":"s","lastStep":7}}',
  ]);
});

json('of the people of an account has members and links with these names', async () => {
  const members = sqliteMemberStore(database);
  const link = { accountId: 'a', createdAtMs: 1, expiresAtMs: 99 };
  const invitation: EntryLink = {
    ...{ ...link, digest: 'i', kind: 'invitation', email: 'b@b.c', role: 'viewer' },
  };
  await members.addLink({ ...link, digest: 's', kind: 'setup' });
  await members.enter({ accountId: 'a', digest: 's', userId: 'usr_1', atMs: 2 });
  await members.addLink(invitation);
  await members.addLink({ ...link, digest: 's2', kind: 'setup' });
  assert.equal(await stored('account_people'), [
    '{"isClosed":false,"members":[{"accountId":"a","userId":"usr_1","role":"owner",' +
      '"createdAtMs":2}],"links":[{"accountId":"a","createdAtMs":1,"expiresAtMs":99,' +
      '"digest":"i","kind":"invitation","email":"b@b.c","role":"viewer"},' +
      '{"accountId":"a","createdAtMs":1,"expiresAtMs":99,"digest":"s2","kind":"setup"}]}',
  ]);
});

json('of a session has these field names', async () => {
  const sessions = sqliteSessionStore(database, new ManualClock());
  const session: Session = {
    ...{ digest: 'd', userId: 'usr_1', accountId: 'a', authenticatedBy: 'password+totp' },
    ...{ credentialsVersion: 1, createdAtMs: 2, lastSeenAtMs: 3 },
    ...{ address: '127.0.0.1', client: 'a browser' },
  };
  await sessions.create(session);
  assert.equal(await stored('console_sessions'), [
    '{"digest":"d","userId":"usr_1","accountId":"a","authenticatedBy":"password+totp",' +
      '"credentialsVersion":1,"createdAtMs":2,"lastSeenAtMs":3,"address":"127.0.0.1",' +
      '"client":"a browser"}',
  ]);
});

json('of billing has customers and subscriptions with these names', async () => {
  const record: BillingRecord = {
    customers: [{ id: 'c', atMs: 1 }],
    subscriptions: [
      {
        id: 's',
        facts: [
          {
            ...{ kind: 'description', eventId: 'e', atMs: 2, change: 'updated', plan: 'pro' },
            ...{ status: 'active', periodEndsAtMs: 4, endsAtMs: 5, isPaused: true },
            before: { plan: 'indie', status: 'trial', periodEndsAtMs: 3 },
            ...{ invoiceId: 'i', isInvoiced: true },
          },
          {
            ...{ kind: 'invoice', eventId: 'f', atMs: 6, invoiceId: 'i', outcome: 'paid' },
            lines: [{ plan: 'pro', fromMs: 7, throughMs: 8, isCredit: true }],
          },
        ],
      },
    ],
    returns: [{ eventId: 'g', atMs: 9, invoiceId: 'i', outcome: 'taken' }],
  };
  await sqliteBillingStore(database).put('a', 0, record);
  assert.equal(await stored('billing'), [
    '{"customers":[{"id":"c","atMs":1}],"subscriptions":[{"id":"s","facts":[' +
      '{"kind":"description","eventId":"e","atMs":2,"change":"updated","plan":"pro",' +
      '"status":"active","periodEndsAtMs":4,"endsAtMs":5,"isPaused":true,' +
      '"before":{"plan":"indie","status":"trial","periodEndsAtMs":3},"invoiceId":"i",' +
      '"isInvoiced":true},{"kind":"invoice","eventId":"f","atMs":6,"invoiceId":"i",' +
      '"outcome":"paid","lines":[{"plan":"pro","fromMs":7,"throughMs":8,"isCredit":true}]}]}],' +
      '"returns":[{"eventId":"g","atMs":9,"invoiceId":"i","outcome":"taken"}]}',
  ]);
});

for (const part of [json, files.closing()]) part.run();
