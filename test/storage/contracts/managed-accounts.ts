import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import type { FaultCode } from '#errors/error-codes';
import type { Clock } from '#stdlib/clock';
import type { ManagedAccounts } from '#storage/ports/accounts';
import { addKey, revokeKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn } from '#test/support/settled';

type Open = (clock: Pick<Clock, 'wallMs'>) => Promise<ManagedAccounts>;

const LIMITS = { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 };

const ACCOUNT: Account = {
  id: 'a',
  name: 'account a',
  plan: 'pro',
  status: 'active',
  limits: LIMITS,
  createdAtMs: 1,
};

/** Contract tests of the ManagedAccounts port; for the arguments see `accountStoreContract`. */
export function managedAccountsContract(name: string, open: Open, suite = plainSuite): Test[] {
  const deletion = suite(`the deletion of an account in ${name}`);
  beginning(deletion, open);
  ending(deletion, open);
  remembering(deletion, open);
  const imported = suite(`an imported account in ${name}`);
  importing(imported, open);
  return [deletion, imported];
}

function remembering(deletion: Test, open: Open): void {
  deletion('leaves the account id, which tools can list', async () => {
    const store = await open(new ManualClock());
    for (const id of ['a', 'b', 'c', 'd']) await store.create({ ...ACCOUNT, id });
    for (const id of ['b', 'd', 'c']) await store.beginDeletion(id, 9);
    for (const id of ['b', 'd']) await store.endDeletion(id);
    const ids = (await Array.fromAsync(store.deletedIds())).flat();
    assert.equal(ids.sort(), ['b', 'd']);
  });
}

function beginning(deletion: Test, open: Open): void {
  deletion(
    'revokes every key when it begins, while earlier revocations keep their time',
    async () => {
      const store = await opened(open, ACCOUNT);
      for (const id of ['1', '2', '3']) await addKey(store, 'a', key(id));
      await revokeKey(store, 'a', 'key_2', 4);
      assert.is(await store.beginDeletion('a', 9), 'deleting');
      assert.is(await store.beginDeletion('a', 11), 'deleting');
      const found = await store.find('a');
      assert.is(found?.account.status, 'deleting');
      assert.equal(
        found?.keys.map(({ id, revokedAtMs }) => [id, revokedAtMs]),
        [
          ['key_1', 9],
          ['key_2', 4],
          ['key_3', 9],
        ],
      );
    },
  );

  deletion('revokes a key that a fast clock considers deleted', async () => {
    const clock = new ManualClock();
    const store = await open(clock);
    await store.create(ACCOUNT);
    await addKey(store, 'a', { ...key('1'), expiresAtMs: clock.wallMs() + 1_000 });
    clock.stepWall(365 * 86_400_000);
    await store.beginDeletion('a', 9);
    clock.stepWall(-365 * 86_400_000);
    assert.is((await store.find('a'))?.keys[0]?.revokedAtMs, 9);
  });

  deletion('blocks all other changes once it has begun', async () => {
    const store = await opened(open, ACCOUNT);
    await store.beginDeletion('a', 9);
    await refused('conflict', store.setStatus('a', 'active'));
    await refused('conflict', store.setPlan('a', { plan: 'free', limits: LIMITS }));
    await refused('conflict', addKey(store, 'a', key('1')));
    await refused('conflict', store.setModel('a', '1.0'));
    await refused('conflict', store.setRetention('a', 30));
    await refused('conflict', store.endImport(ACCOUNT));
    assert.equal(await store.find('a'), { account: { ...ACCOUNT, status: 'deleting' }, keys: [] });
  });

  deletion('of an unknown account is refused', async () => {
    const store = await opened(open, ACCOUNT);
    await refused('not_found', store.beginDeletion('b', 9));
    await refused('not_found', store.endDeletion('b'));
  });
}

function ending(deletion: Test, open: Open): void {
  deletion('does not end before it has begun', async () => {
    const store = await opened(open, ACCOUNT);
    await refused('conflict', store.endDeletion('a'));
    assert.equal((await store.find('a'))?.account, ACCOUNT);
  });

  deletion('leaves no account, and its id stays reserved', async () => {
    const store = await opened(open, ACCOUNT);
    await addKey(store, 'a', key('1'));
    await addKey(store, 'a', { ...key('2'), expiresAtMs: new ManualClock().wallMs() + 1_000 });
    await store.beginDeletion('a', 9);
    for (let times = 0; times < 2; times += 1) await store.endDeletion('a');
    assert.is(await store.find('a'), undefined);
    assert.equal(await store.list({ afterId: undefined, limit: 5 }), []);
    assert.is(await store.beginDeletion('a', 10), 'deleted');
    await refused('conflict', store.create(ACCOUNT));
    await refused('not_found', store.setStatus('a', 'active'));
    await refused('not_found', store.setPlan('a', { plan: 'free', limits: LIMITS }));
    await refused('not_found', addKey(store, 'a', key('3')));
    await refused('not_found', revokeKey(store, 'a', 'key_1', 5));
    await refused('not_found', store.setModel('a', '1.0'));
    await refused('not_found', store.setRetention('a', 30));
    await refused('not_found', store.endImport(ACCOUNT));
  });

  deletion('leaves full pages in the listing', async () => {
    const store = await opened(open, ACCOUNT);
    for (const id of ['b', 'c', 'd']) await store.create({ ...ACCOUNT, id });
    await store.beginDeletion('a', 9);
    await store.endDeletion('a');
    const page = await store.list({ afterId: undefined, limit: 2 });
    assert.equal(
      page.map(({ id }) => id),
      ['b', 'c'],
    );
  });
}

function importing(imported: Test, open: Open): void {
  imported('accepts keys, but no plan or status, until it is opened', async () => {
    const store = await opened(open, { ...ACCOUNT, status: 'importing' });
    await addKey(store, 'a', key('1'));
    await refused('conflict', store.setStatus('a', 'active'));
    await refused('conflict', store.setPlan('a', { plan: 'free', limits: LIMITS }));
    await refused('conflict', store.setModel('a', '1.0'));
    await refused('conflict', store.setRetention('a', 30));
    const suspended: Account = { ...ACCOUNT, status: 'suspended' };
    assert.equal(await store.endImport(suspended), suspended);
    assert.is((await store.setStatus('a', 'active')).status, 'active');
  });

  imported('is opened with the values of the last attempt', async () => {
    const store = await opened(open, { ...ACCOUNT, status: 'importing' });
    const last: Account = { ...ACCOUNT, plan: 'free', modelVersion: '1.0' };
    await store.endImport(last);
    assert.equal((await store.find('a'))?.account, last);
  });

  imported('can be opened only once', async () => {
    const store = await opened(open, { ...ACCOUNT, status: 'importing' });
    await store.endImport(ACCOUNT);
    await refused('conflict', store.endImport({ ...ACCOUNT, status: 'suspended' }));
    assert.is((await store.find('a'))?.account.status, 'active');
  });

  imported('can be deleted before it is opened', async () => {
    const store = await opened(open, { ...ACCOUNT, status: 'importing' });
    assert.is(await store.beginDeletion('a', 9), 'deleting');
    await store.endDeletion('a');
    assert.is(await store.find('a'), undefined);
  });
}

async function opened(open: Open, account: Account): Promise<ManagedAccounts> {
  const store = await open(new ManualClock());
  await store.create(account);
  return store;
}

function key(number: string): ApiKeyRecord {
  return { id: `key_${number}`, digest: `digest ${number}`, scope: 'full', createdAtMs: 2 };
}

async function refused(code: FaultCode, pending: Promise<unknown>): Promise<void> {
  assert.is((await faultIn(pending)).code, code);
}
