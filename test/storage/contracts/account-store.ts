import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import type { FaultCode } from '#errors/error-codes';
import type { Clock } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import { addKey, revokeKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn } from '#test/support/settled';

const NOW_MS = Date.UTC(2026, 0, 15, 12);

const DAY_MS = 86_400_000;

type Open = (clock: Pick<Clock, 'wallMs'>) => Promise<AccountStore>;

/** Opens a store with the accounts a and b. */
type WithAccount = (clock?: ManualClock) => Promise<AccountStore>;

/**
 * Contract tests of the AccountStore port for every adapter. `open` returns an empty store. `suite`
 * may be a variant of uvu's `suite` that skips all tests.
 */
export function accountStoreContract(name: string, open: Open, suite = plainSuite): Test[] {
  return [accountsOf(name, open, suite), keysOf(name, open, suite)];
}

function accountsOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const accounts = suite(`accounts in ${name}`);

  creatingAccounts(accounts, open);
  changingAccounts(accounts, open);
  changingPlans(accounts, open);
  choosing(accounts, open);
  return accounts;
}

function creatingAccounts(accounts: Test, open: Open): void {
  accounts('are found as created, without keys', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    assert.equal(await store.find('a'), { account: account('a'), keys: [] });
  });

  accounts('are not found if they were never created', async () => {
    const store = await open(new ManualClock(NOW_MS));
    assert.is(await store.find('a'), undefined);
  });

  accounts('cannot be created twice, and the first account stays unchanged', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    await refused('conflict', store.create({ ...account('a'), name: 'another' }));
    assert.is((await store.find('a'))?.account.name, 'account a');
  });

  accounts('are created once, however many writers try at the same time', async () => {
    const store = await open(new ManualClock(NOW_MS));
    const attempts = await Promise.allSettled([1, 2, 3].map(() => store.create(account('a'))));
    assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  accounts('are listed by id, page by page', async () => {
    const store = await open(new ManualClock(NOW_MS));
    for (const id of ['c', 'B', 'a', 'd']) await store.create(account(id));
    const first = await store.list({ afterId: undefined, limit: 2 });
    const second = await store.list({ afterId: 'a', limit: 2 });
    const last = await store.list({ afterId: 'd', limit: 2 });
    const ids = [first, second, last].map((page) => page.map(({ id }) => id));
    assert.equal(ids, [['B', 'a'], ['c', 'd'], []]);
    assert.equal(first[1], account('a'));
  });
}

function changingAccounts(accounts: Test, open: Open): void {
  accounts('keep everything else when the plan and its limits change', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    const limits = { requestsPerMinute: 7, cyclesPerMonth: 8, instances: 1_000 };
    const expected = { ...account('a'), plan: 'enterprise', limits };
    assert.equal(await store.setPlan('a', { plan: 'enterprise', limits }), expected);
    assert.equal((await store.find('a'))?.account, expected);
  });

  accounts('can be suspended and resumed repeatedly', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    for (const status of ['suspended', 'suspended', 'active'] as const) {
      assert.equal(await store.setStatus('a', status), { ...account('a'), status });
      assert.is((await store.find('a'))?.account.status, status);
    }
  });

  accounts('cannot be changed if they do not exist', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await refused('not_found', store.setPlan('a', { plan: 'free', limits: account('a').limits }));
    await refused('not_found', store.setModel('a', '1.0'));
    await refused('not_found', store.setRetention('a', 30));
    await refused('not_found', store.setStatus('a', 'suspended'));
    await refused('not_found', addKey(store, 'a', key('1')));
    await refused('not_found', revokeKey(store, 'a', 'key_1', 5));
  });

  accounts('are copies: changes by a caller have no effect on the store', async () => {
    const store = await open(new ManualClock(NOW_MS));
    const mine = { ...account('a'), limits: { ...account('a').limits } };
    await store.create(mine);
    mine.limits.cyclesPerMonth = 0;
    const found = await store.find('a');
    Object.assign(found?.account.limits ?? {}, { requestsPerMinute: 0 });
    Object.assign(found ?? {}, { keys: [key('1')] });
    const [listed] = await store.list({ afterId: undefined, limit: 1 });
    Object.assign(listed ?? {}, { name: 'another' });
    assert.equal(await store.find('a'), { account: account('a'), keys: [] });
  });
}

function changingPlans(accounts: Test, open: Open): void {
  accounts('keep the next plan through every change, except a change of the plan', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    const limits = { requestsPerMinute: 7, cyclesPerMonth: 8, instances: 9 };
    const present = { plan: 'pro', limits: { ...limits, instances: 10 } } as const;
    // The store keeps past times too, because readers compare them with their own clock.
    const later = { plan: 'indie', limits, atMs: NOW_MS - 1 } as const;
    const planChange = { ...later, from: 'pro' } as const;
    const expected = { ...account('a'), ...present, planChange };
    assert.equal(await store.setPlan('a', { ...present, later }), expected);
    assert.equal((await store.find('a'))?.account, expected);
    assert.equal(await store.list({ afterId: undefined, limit: 1 }), [expected]);
    await store.setStatus('a', 'suspended');
    await addKey(store, 'a', key('1'));
    await store.setRetention('a', 30);
    assert.equal((await store.find('a'))?.account.planChange, planChange);
    await store.setPlan('a', { ...present, later: { ...later, plan: 'free' } });
    assert.is((await store.find('a'))?.account.planChange?.plan, 'free');
    assert.is((await store.setPlan('a', present)).planChange, undefined);
    assert.is((await store.find('a'))?.account.planChange, undefined);
  });

  accounts('can be created with a next plan', async () => {
    const store = await open(new ManualClock(NOW_MS));
    const limits = { requestsPerMinute: 7, cyclesPerMonth: 8, instances: 9 };
    const planChange = { plan: 'free', limits, atMs: NOW_MS, from: 'indie' } as const;
    const created = { ...account('a'), planChange };
    await store.create(created);
    assert.equal((await store.find('a'))?.account, created);
  });
}

function choosing(accounts: Test, open: Open): void {
  accounts('can set and remove a model, without other changes', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    for (const modelVersion of ['1.0', '1.0', '2.0']) {
      const expected = { ...account('a'), modelVersion };
      assert.equal(await store.setModel('a', modelVersion), expected);
      assert.equal((await store.find('a'))?.account, expected);
    }
    await store.setStatus('a', 'suspended');
    await addKey(store, 'a', key('1'));
    assert.is((await store.find('a'))?.account.modelVersion, '2.0');
    assert.equal(await store.setModel('a', undefined), { ...account('a'), status: 'suspended' });
    assert.is((await store.find('a'))?.account.modelVersion, undefined);
  });

  accounts('can set and remove a retention, without other changes', async () => {
    const store = await open(new ManualClock(NOW_MS));
    await store.create(account('a'));
    for (const retention of [30, 30, 'none', 36_500] as const) {
      const expected = { ...account('a'), retention };
      assert.equal(await store.setRetention('a', retention), expected);
      assert.equal((await store.find('a'))?.account, expected);
    }
    await store.setModel('a', '1.0');
    assert.equal(await store.setRetention('a', undefined), {
      ...account('a'),
      modelVersion: '1.0',
    });
    assert.is((await store.find('a'))?.account.retention, undefined);
    await store.create({ ...account('b'), retention: 7 });
    assert.is((await store.find('b'))?.account.retention, 7);
  });
}

function keysOf(name: string, open: Open, suite: typeof plainSuite): Test {
  const keys = suite(`keys in ${name}`);
  const withAccount: WithAccount = async (clock = new ManualClock(NOW_MS)) => {
    const store = await open(clock);
    await store.create(account('a'));
    await store.create(account('b'));
    return store;
  };

  keepingKeys(keys, withAccount);
  endingKeys(keys, withAccount);
  return keys;
}

function keepingKeys(keys: Test, withAccount: WithAccount): void {
  keys('are found with their account, oldest first', async () => {
    const store = await withAccount();
    const second = { ...key('2'), expiresAtMs: NOW_MS + 99 };
    await addKey(store, 'a', key('1'));
    await addKey(store, 'a', second);
    assert.equal((await store.find('a'))?.keys, [key('1'), second]);
    assert.equal((await store.find('b'))?.keys, []);
  });

  keys('are all kept when they are added concurrently', async () => {
    const store = await withAccount();
    await Promise.all(['1', '2', '3'].map((number) => addKey(store, 'a', key(number))));
    const ids = (await store.find('a'))?.keys.map(({ id }) => id) ?? [];
    assert.equal(ids.toSorted(), ['key_1', 'key_2', 'key_3']);
  });

  keys('cannot be added with the digest of another key', async () => {
    const store = await withAccount();
    await addKey(store, 'a', key('1'));
    await refused('conflict', addKey(store, 'a', { ...key('2'), digest: key('1').digest }));
    assert.equal((await store.find('a'))?.keys, [key('1')]);
  });

  keys(
    'stay in the list after they are revoked, with the time of the first revocation',
    async () => {
      const store = await withAccount();
      await addKey(store, 'a', key('1'));
      await addKey(store, 'a', key('2'));
      const revoked = { ...key('1'), revokedAtMs: 5 };
      assert.equal(await revokeKey(store, 'a', 'key_1', 5), revoked);
      assert.equal(await revokeKey(store, 'a', 'key_1', 6), revoked);
      assert.equal((await store.find('a'))?.keys, [revoked, key('2')]);
    },
  );
}

function endingKeys(keys: Test, withAccount: WithAccount): void {
  keys('are kept for 90 days after their expiry, then deleted', async () => {
    const clock = new ManualClock(NOW_MS);
    const store = await withAccount(clock);
    const expiring = { ...key('1'), expiresAtMs: NOW_MS + 5 };
    const revoked = { ...key('2'), expiresAtMs: NOW_MS + 7, revokedAtMs: NOW_MS };
    const forGood = { ...key('3'), revokedAtMs: NOW_MS };
    for (const each of [key('0'), expiring, key('2'), forGood]) await addKey(store, 'a', each);
    const left = async () => (await store.find('a'))?.keys.map(({ id }) => id);
    clock.advance(90 * DAY_MS + 4);
    assert.equal(await left(), ['key_0', 'key_1', 'key_2', 'key_3']);
    clock.advance(1);
    assert.equal(await left(), ['key_0', 'key_2', 'key_3']);
    await addKey(store, 'a', { ...revoked, id: 'key_4', digest: 'digest 4' });
    assert.equal(await left(), ['key_0', 'key_2', 'key_3', 'key_4']);
    clock.advance(2);
    assert.equal(await left(), ['key_0', 'key_2', 'key_3'], 'a revoked key is deleted as well');
    await addKey(store, 'a', key('5'));
    assert.equal(await left(), ['key_0', 'key_2', 'key_3', 'key_5'], 'the newest key comes last');
  });

  keys('can be revoked only once, even if a fast clock considers them deleted', async () => {
    const clock = new ManualClock(NOW_MS);
    const store = await withAccount(clock);
    await addKey(store, 'a', { ...key('1'), expiresAtMs: NOW_MS + DAY_MS });
    clock.stepWall(3_650 * DAY_MS);
    const revoked = await revokeKey(store, 'a', 'key_1', clock.wallMs());
    assert.is(revoked.revokedAtMs, clock.wallMs());
    assert.equal(await revokeKey(store, 'a', 'key_1', clock.wallMs() + 1), revoked);
    assert.equal((await store.find('a'))?.keys, []);
    clock.stepWall(-3_650 * DAY_MS);
    assert.equal(
      (await store.find('a'))?.keys,
      [revoked],
      'the store itself must keep the first revocation',
    );
  });

  keys('cannot be revoked through another account', async () => {
    const store = await withAccount();
    await addKey(store, 'a', key('1'));
    await refused('not_found', revokeKey(store, 'b', 'key_1', 5));
    await refused('not_found', revokeKey(store, 'a', 'key_2', 5));
  });

  keys('are copies: changes by a caller have no effect on the store', async () => {
    const store = await withAccount();
    const mine = { ...key('1') };
    await addKey(store, 'a', mine);
    Object.assign(mine, { scope: 'read' });
    Object.assign((await store.find('a'))?.keys[0] ?? {}, { scope: 'read' });
    Object.assign(await revokeKey(store, 'a', 'key_1', 5), { scope: 'read' });
    assert.equal((await store.find('a'))?.keys, [{ ...key('1'), revokedAtMs: 5 }]);
  });
}

function account(id: string): Account {
  const limits = { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 };
  return { id, name: `account ${id}`, plan: 'free', status: 'active', limits, createdAtMs: 1 };
}

function key(number: string): ApiKeyRecord {
  return { id: `key_${number}`, digest: `digest ${number}`, scope: 'full', createdAtMs: 2 };
}

async function refused(code: FaultCode, pending: Promise<unknown>): Promise<void> {
  assert.is((await faultIn(pending)).code, code);
}
