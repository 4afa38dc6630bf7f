import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import { forgetPeople } from '#storage/ports/people';
import { someUser } from '#test/storage/contracts/user-store';
import { ManualClock } from '#test/support/manual-clock';

const clock = new ManualClock();

/**
 * Creates Ada, a member of `a` and `b`, and Bob, a member of `a`. Both have a session in each of
 * their accounts.
 */
async function twoAccounts() {
  const stores = {
    users: memoryUserStore(),
    members: memoryMemberStore(),
    sessions: memorySessionStore(clock),
  };
  const nowMs = clock.wallMs();
  const [ada, bob] = [someUser('ada@b.c'), someUser('bob@b.c')];
  for (const [user, accountIds] of [
    [ada, ['a', 'b']],
    [bob, ['a']],
  ] as const) {
    await stores.users.create(user);
    for (const accountId of accountIds) {
      const link = { kind: 'invitation', email: user.email, role: 'owner', accountId } as const;
      const digest = `${user.id} ${accountId}`;
      await stores.members.addLink({
        ...link,
        digest,
        createdAtMs: nowMs,
        expiresAtMs: nowMs + 1_000,
      });
      await stores.members.enter({ accountId, digest, userId: user.id, atMs: nowMs });
      await stores.sessions.create({
        ...{ digest, userId: user.id, accountId, authenticatedBy: 'password' },
        ...{
          credentialsVersion: 1,
          createdAtMs: nowMs,
          lastSeenAtMs: nowMs,
          address: '',
          client: '',
        },
      });
    }
  }
  return { stores, ada, bob };
}

const people = suite('the people of a deleted account');

people(
  'lose their sessions in this account, and are deleted if they have no other account',
  async () => {
    const { stores, ada, bob } = await twoAccounts();
    assert.is(await forgetPeople(stores, 'a'), 1);
    assert.is(await stores.users.find(bob.id), undefined);
    assert.equal(await stores.sessions.listOf(bob.id), []);
    assert.equal((await stores.users.find(ada.id))?.user, ada);
    const left = await stores.sessions.listOf(ada.id);
    assert.equal(
      left.map(({ accountId }) => accountId),
      ['b'],
    );
    assert.equal((await stores.members.find('a')).members, []);
    assert.is((await stores.members.find('a')).isClosed, true);
    assert.is(await forgetPeople(stores, 'a'), 0, 'the second run has nothing left to do');
  },
);

people('stay if they enter another account meanwhile', async () => {
  const { stores, bob } = await twoAccounts();
  const remove: typeof stores.users.remove = async (was) => {
    // The write that `console/people/entry` makes after a membership.
    await stores.users.replace(was, was.user);
    return await stores.users.remove(was);
  };
  assert.is(await forgetPeople({ ...stores, users: { ...stores.users, remove } }, 'a'), 0);
  assert.ok(await stores.users.find(bob.id));
});

people('are found again after an interrupted deletion', async () => {
  const { stores, bob } = await twoAccounts();
  const close = () => Promise.reject(new Error('the deletion is interrupted here'));
  const members = { ...stores.members, close };
  await forgetPeople({ ...stores, members }, 'a').catch(() => undefined);
  assert.is((await stores.members.find('a')).members.length, 2);
  await forgetPeople(stores, 'a');
  assert.is((await stores.members.find('a')).members.length, 0);
  assert.is(await stores.users.find(bob.id), undefined);
});

people.run();
