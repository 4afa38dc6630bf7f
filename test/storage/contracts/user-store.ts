import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { User } from '#accounts/people';
import type { PagedUsers } from '#storage/ports/people';
import { faultIn } from '#test/support/settled';

/** User with an id that is derived from the email. */
export function someUser(email: string, more: Partial<User> = {}): User {
  const id = `usr_${Buffer.from(email).toString('hex').padEnd(16, '0').slice(-16)}`;
  return {
    ...{ id, email, name: 'Ada', passwordHash: 'hash', credentialsVersion: 1 },
    ...{ recoveryDigests: [], deviceDigests: [], createdAtMs: 5 },
    ...more,
  };
}

type Open = () => Promise<{ store: PagedUsers; prefix: string }>;

/** Contract tests of the UserStore port for every adapter. `open` returns an empty store. */
export function userStoreContract(name: string, open: Open, suite = plainSuite): Test {
  const users = suite(`users in ${name}`);
  findingUsers(users, open);
  changingUsers(users, open);
  return users;
}

function findingUsers(users: Test, open: Open): void {
  users('are found by id and by email, as created', async () => {
    const { store, prefix } = await open();
    const secondFactor = { state: 'active', sealedSecret: 's', lastStep: 7 } as const;
    const lists = { recoveryDigests: ['a', 'b'], deviceDigests: ['c'] };
    const user = someUser(`${prefix}a@b.c`, { secondFactor, ...lists });
    const stored = await store.create(user);
    assert.equal(stored.user, user);
    assert.equal(await store.find(user.id), stored);
    assert.equal(await store.findByEmail(user.email), stored);
  });

  users('are listed in pages, each once', async () => {
    const { store, prefix } = await open();
    const created = ['a', 'b', 'c'].map((name) => someUser(`${prefix}${name}@b.c`));
    for (const user of created) await store.create(user);
    const pages = (await Array.fromAsync(store.pages())).flat();
    const own = pages.filter(({ email }) => email.startsWith(prefix));
    assert.equal(
      own.sort((a, b) => (a.email < b.email ? -1 : 1)),
      created,
    );
  });

  users('are not found if they were never created', async () => {
    const { store, prefix } = await open();
    assert.is(await store.find('usr_0000000000000000'), undefined);
    assert.is(await store.findByEmail(`${prefix}a@b.c`), undefined);
  });

  users('have a unique email despite concurrent attempts', async () => {
    const { store, prefix } = await open();
    const email = `${prefix}a@b.c`;
    const ids = ['usr_1111111111111111', 'usr_2222222222222222', 'usr_3333333333333333'];
    const attempts = await Promise.allSettled(
      ids.map((id) => store.create(someUser(email, { id: id.replace('usr_', `usr_${prefix}`) }))),
    );
    assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.is((await faultIn(store.create(someUser(email)))).code, 'conflict');
    const found = await Promise.all(
      ids.map((id) => store.find(id.replace('usr_', `usr_${prefix}`))),
    );
    assert.is(found.filter((each) => each !== undefined).length, 1);
  });
}

function changingUsers(users: Test, open: Open): void {
  users(
    'change only if they are unchanged since their read, once for concurrent attempts',
    async () => {
      const { store, prefix } = await open();
      const stored = await store.create(someUser(`${prefix}a@b.c`));
      const named = (text: string) => store.replace(stored, { ...stored.user, name: text });
      const attempts = await Promise.allSettled([named('1'), named('2'), named('3')]);
      assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.is((await faultIn(named('4'))).code, 'conflict');
      const now = await store.find(stored.user.id);
      assert.ok(now !== undefined && ['1', '2', '3'].includes(now.user.name));
      assert.is((await store.replace(now, { ...now.user, name: '5' })).user.name, '5');
    },
  );

  users('lose removed fields', async () => {
    const { store, prefix } = await open();
    const secondFactor = { state: 'pending', sealedSecret: 's', lastStep: 0 } as const;
    const stored = await store.create(someUser(`${prefix}a@b.c`, { secondFactor }));
    const { secondFactor: _, ...without } = stored.user;
    await store.replace(stored, { ...without, recoveryDigests: [] });
    assert.equal((await store.find(stored.user.id))?.user, without);
  });

  users(
    'are removed only if they are unchanged since their read, and free their email',
    async () => {
      const { store, prefix } = await open();
      const email = `${prefix}a@b.c`;
      const first = await store.create(someUser(email));
      const second = await store.replace(first, { ...first.user, name: 'B' });
      assert.is(await store.remove(first), false);
      assert.equal(await store.find(first.user.id), second);
      assert.is(await store.remove(second), true);
      assert.is(await store.find(first.user.id), undefined);
      assert.is(await store.remove(second), false);
      assert.is((await faultIn(store.replace(second, second.user))).code, 'conflict');
      const id = `usr_${prefix}${'9'.repeat(10)}`;
      await store.create(someUser(email, { id }));
      assert.is((await store.findByEmail(email))?.user.id, id);
      assert.is(await store.find(first.user.id), undefined);
    },
  );
}
