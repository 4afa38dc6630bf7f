import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { KeyUse, KeyUseStore } from '#storage/ports/accounts';

/** Contract tests of the KeyUseStore port; for the arguments see `accountStoreContract`. */
export function keyUseStoreContract(
  name: string,
  open: () => Promise<KeyUseStore>,
  suite = plainSuite,
): Test {
  const uses = suite(`the last uses of keys in ${name}`);

  uses('are found by account, one use per key', async () => {
    const store = await open();
    assert.equal(await store.find('a'), []);
    await store.note('a', use('1', 5));
    await store.note('a', use('2', 6));
    await store.note('b', use('1', 7));
    assert.equal(sorted(await store.find('a')), [use('1', 5), use('2', 6)]);
    assert.equal(await store.find('b'), [use('1', 7)]);
  });

  uses('keep unknown properties of a caller undefined', async () => {
    const store = await open();
    const bare = { ...use('1', 5), address: undefined, client: undefined };
    await store.note('a', bare);
    assert.equal(await store.find('a'), [bare]);
  });

  uses('come from the latest minute, despite late and repeated writes', async () => {
    const store = await open();
    for (const minute of [29_000_005, 29_000_007, 29_000_007, 29_000_006]) {
      await store.note('a', { ...use('1', minute), client: `in ${minute}` });
    }
    assert.equal(await store.find('a'), [{ ...use('1', 29_000_007), client: 'in 29000007' }]);
  });

  uses('come from a single note, even if two notes have the same minute', async () => {
    const store = await open();
    const first = { ...use('1', 5), address: '192.0.2.1', client: 'b' };
    const second = { ...use('1', 5), address: '192.0.2.2', client: 'a' };
    await store.note('a', first);
    await store.note('a', second);
    const [found] = await store.find('a');
    assert.ok(
      [first, second].some(({ address, client }) => {
        return found?.address === address && found?.client === client;
      }),
    );
  });

  uses('are permanently deleted with their account', async () => {
    const store = await open();
    await store.note('a', use('1', 5));
    await store.note('b', use('1', 5));
    for (let times = 0; times < 2; times += 1) await store.erase('a');
    await store.note('a', use('1', 29_000_000));
    assert.equal(await store.find('a'), []);
    assert.equal(await store.find('b'), [use('1', 5)]);
  });

  return uses;
}

function use(digest: string, minute: number): KeyUse {
  return { digest, minute, address: '192.0.2.1', client: 'curl/8.5.0' };
}

function sorted(uses: readonly KeyUse[]): readonly KeyUse[] {
  return uses.toSorted((one, other) => (one.digest < other.digest ? -1 : 1));
}
