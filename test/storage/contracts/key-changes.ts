import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import type { Clock } from '#stdlib/clock';
import type { ManagedAccounts } from '#storage/ports/accounts';
import { addKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, refusalOf } from '#test/support/settled';

const DAY_MS = 86_400_000;

type Open = (clock: Pick<Clock, 'wallMs'>) => Promise<ManagedAccounts>;

const ACCOUNT: Account = {
  id: 'a',
  name: 'account a',
  plan: 'pro',
  status: 'active',
  limits: { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 },
  createdAtMs: 1,
};

/** A key with all optional fields. */
const FULL: ApiKeyRecord = {
  ...key('1'),
  scope: 'read',
  expiresAtMs: Date.UTC(2090, 0, 1),
  name: 'Zoë’s laptop 💻',
  hint: 'ab12',
  networks: ['10.0.0.0/8', '2001:db8::/32'],
  disabledAtMs: 7,
  replacedBy: 'key_2',
};

/** Contract tests of `changeKeys`; for the arguments see `accountStoreContract`. */
export function keyChangesContract(name: string, open: Open, suite = plainSuite): Test[] {
  const changes = suite(`a change of keys in ${name}`);
  keeping(changes, open);
  deciding(changes, open);
  return [changes];
}

function keeping(changes: Test, open: Open): void {
  changes('keeps all fields of a key, and clears removed fields', async () => {
    const { store, put, keys } = await opened(open);
    await put(FULL);
    assert.equal(await keys(), [FULL]);
    const { disabledAtMs: _, ...enabled } = FULL;
    await put({ ...enabled, name: 'another' });
    assert.equal(await keys(), [{ ...enabled, name: 'another' }]);
    await store.setStatus('a', 'suspended');
    assert.equal(await keys(), [{ ...enabled, name: 'another' }]);
    await put(key('2'));
    await put({ ...key('2'), disabledAtMs: 9 });
    assert.equal((await keys())?.[1], { ...key('2'), disabledAtMs: 9 });
    await put(key('2'));
    assert.equal((await keys())?.[1], key('2'));
  });

  changes('replaces keys in place and appends new keys atomically', async () => {
    const { put, keys } = await opened(open);
    await put(key('1'), key('2'));
    await put({ ...key('1'), name: 'first' }, key('3'), key('4'));
    assert.equal(await keys(), [{ ...key('1'), name: 'first' }, key('2'), key('3'), key('4')]);
  });

  changes('is all or nothing', async () => {
    const { store, put, keys } = await opened(open);
    await put(key('1'));
    const change = store.changeKeys('a', () => ({
      put: [{ ...key('1'), name: 'first' }, key('2'), { ...key('3'), digest: key('2').digest }],
      answer: undefined,
    }));
    assert.is((await faultIn(change)).code, 'conflict');
    assert.equal(await keys(), [key('1')]);
  });

  changes('can change a key that a fast clock considers deleted, and append new keys', async () => {
    const { store, put, keys, clock } = await opened(open);
    const ending = { ...key('1'), expiresAtMs: clock.wallMs() + 1 };
    await put(ending);
    clock.stepWall(3_650 * DAY_MS);
    const seen = await store.changeKeys('a', (there) => ({
      put: [{ ...ending, name: 'the key is still stored' }, key('2')],
      answer: there.map(({ id }) => id),
    }));
    assert.equal(seen, ['key_1']);
    assert.equal(await keys(), [key('2')]);
    clock.stepWall(-3_650 * DAY_MS);
    assert.equal(await keys(), [{ ...ending, name: 'the key is still stored' }, key('2')]);
  });
}

function deciding(changes: Test, open: Open): void {
  changes('gets every current key, oldest first, and returns the decision', async () => {
    const { store, put } = await opened(open);
    await put(key('1'), { ...key('2'), revokedAtMs: 3 });
    const seen = await store.changeKeys('a', (there) => ({ put: [], answer: there }));
    assert.equal(seen, [key('1'), { ...key('2'), revokedAtMs: 3 }]);
  });

  changes('decides again after a concurrent change, so that no change is lost', async () => {
    const { store, keys } = await opened(open);
    const bounded = (id: string) =>
      store.changeKeys('a', (there) => ({
        put: there.length < 2 ? [key(id)] : [],
        answer: there.length,
      }));
    const counts = await Promise.all(['1', '2', '3', '4'].map(bounded));
    assert.equal(counts.toSorted(), [0, 1, 2, 2]);
    assert.is((await keys())?.length, 2);
  });

  changes('changes nothing if the decision throws', async () => {
    const { store, put, keys } = await opened(open);
    await put(key('1'));
    const failed = await refusalOf(() =>
      store.changeKeys('a', () => {
        throw new RangeError('no');
      }),
    );
    assert.instance(failed, RangeError);
    assert.equal(await keys(), [key('1')]);
  });

  changes('is refused during the deletion of an account, unless it writes nothing', async () => {
    const { store, put } = await opened(open);
    await put(key('1'));
    await store.beginDeletion('a', 9);
    assert.is((await faultIn(addKey(store, 'a', key('2')))).code, 'conflict');
    const seen = await store.changeKeys('a', ([first]) => ({ put: [], answer: first }));
    assert.equal(seen, { ...key('1'), revokedAtMs: 9 });
  });

  changes('copies its input and output', async () => {
    const { store, put, keys } = await opened(open);
    const mine = { ...key('1'), networks: ['10.0.0.0/8'] };
    await put(mine);
    mine.networks.push('11.0.0.0/8');
    await store.changeKeys('a', (there) => {
      Object.assign(there[0] ?? {}, { scope: 'read' });
      return { put: [], answer: undefined };
    });
    assert.equal(await keys(), [{ ...key('1'), networks: ['10.0.0.0/8'] }]);
  });
}

async function opened(open: Open) {
  const clock = new ManualClock();
  const store = await open(clock);
  await store.create(ACCOUNT);
  return {
    store,
    clock,
    put: (...put: ApiKeyRecord[]) => store.changeKeys('a', () => ({ put, answer: undefined })),
    keys: async () => (await store.find('a'))?.keys,
  };
}

function key(number: string): ApiKeyRecord {
  return { id: `key_${number}`, digest: `digest ${number}`, scope: 'full', createdAtMs: 2 };
}
