import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Session } from '#accounts/people';
import type { SessionStore } from '#storage/ports/people';
import { faultIn } from '#test/support/settled';

/** Contract tests of the SessionStore port for every adapter. `open` returns an empty store. */
export function sessionStoreContract(
  name: string,
  open: () => Promise<{ store: SessionStore; prefix: string; nowMs: number }>,
  suite = plainSuite,
): Test {
  const sessions = suite(`sessions in ${name}`);

  async function withSessions(...digests: string[]) {
    const { store, prefix, nowMs } = await open();
    const session = (digest: string): Session => ({
      ...{ digest, userId: `${prefix}u`, accountId: 'a', authenticatedBy: 'password' },
      ...{ credentialsVersion: 1, createdAtMs: nowMs, lastSeenAtMs: nowMs },
      ...{ address: '127.0.0.1', client: 'a browser' },
    });
    for (const digest of digests) await store.create(session(digest));
    const digestsNow = async () =>
      (await store.listOf(`${prefix}u`)).map(({ digest }) => digest).sort();
    return { store, session, digestsNow };
  }

  sessions('are found and listed as created', async () => {
    const { store, session, digestsNow } = await withSessions('1', '2');
    assert.equal(await store.find(session('1').userId, '1'), session('1'));
    assert.equal(await digestsNow(), ['1', '2']);
    assert.is(await store.find(session('1').userId, '3'), undefined);
    assert.is(await store.find('another', '1'), undefined);
    assert.is((await faultIn(store.create(session('1')))).code, 'conflict');
  });

  sessions('record when they were last seen', async () => {
    const { store, session } = await withSessions('1');
    const seenMs = session('1').createdAtMs + 60_000;
    await store.touch(session('1'), seenMs);
    const expected = { ...session('1'), lastSeenAtMs: seenMs };
    assert.equal(await store.find(session('1').userId, '1'), expected);
  });

  sessions('stay ended if a late request updates their time', async () => {
    const { store, session, digestsNow } = await withSessions('1', '2', '3');
    await store.end(session('1').userId, ['1', '3', 'unknown']);
    await store.touch(session('1'), session('1').createdAtMs + 60_000);
    assert.is(await store.find(session('1').userId, '1'), undefined);
    assert.equal(await digestsNow(), ['2']);
  });

  sessions('are renewed only once, and the previous digest becomes invalid', async () => {
    const { store, session, digestsNow } = await withSessions('1');
    const attempts = await Promise.allSettled(
      ['2', '3', '4'].map((digest) => store.renew('1', session(digest))),
    );
    assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.is((await faultIn(store.renew('1', session('5')))).code, 'conflict');
    const left = await digestsNow();
    assert.is(left.length, 1);
    assert.is(left.includes('1'), false);
  });
  return sessions;
}
