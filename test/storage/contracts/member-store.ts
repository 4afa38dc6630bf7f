import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type EntryLink, LINKS_MAX, NO_PEOPLE, type Role } from '#accounts/people';
import type { CopiedMembers } from '#storage/ports/people';
import { faultIn } from '#test/support/settled';

type Open = () => Promise<{ store: CopiedMembers; prefix: string }>;

/** Contract tests of the MemberStore port for every adapter. */
export function memberStoreContract(name: string, open: Open, suite = plainSuite): Test[] {
  const links = suite(`links of accounts in ${name}`);
  const members = suite(`members of accounts in ${name}`);
  usingLinks(links, open);
  copying(members, open);
  changingMembers(members, open);
  closing(members, open);
  leaving(members, open);
  return [links, members];
}

/** An account `a`, with functions that create links and members. */
async function account(open: Open, ...roles: Role[]) {
  const { store, prefix } = await open();
  const accountId = `${prefix}a`;
  const times = { createdAtMs: 10, expiresAtMs: 1_000 };
  const invitation = (
    digest: string,
    role: Role = 'viewer',
    email = `${digest}@b.c`,
  ): EntryLink => {
    return { accountId, digest, ...times, kind: 'invitation', role, email };
  };
  const setup = (digest: string): EntryLink => ({ accountId, digest, ...times, kind: 'setup' });
  const enter = (digest: string, user: string, atMs = 20) =>
    store.enter({ accountId, digest, userId: prefix + user, atMs });
  for (const [at, role] of roles.entries()) {
    await store.addLink(invitation(`first ${at}`, role));
    await enter(`first ${at}`, `u${at}`);
  }
  const user = (at: number) => `${prefix}u${at}`;
  const codes = async (...pending: Promise<unknown>[]) =>
    (await Promise.allSettled(pending)).filter(({ status }) => status === 'fulfilled').length;
  return { store, prefix, accountId, invitation, setup, enter, user, fulfilled: codes };
}

function leaving(members: Test, open: Open): void {
  // Report 10: links that a removed or demoted owner had made let the person in again.
  members('lose their links when they leave or may no longer invite', async () => {
    const { store, prefix, accountId, invitation, user } = await account(open, 'owner', 'owner');
    const by = (id: string) => ({ createdBy: { kind: 'user', id } as const });
    await store.addLink({ ...invitation('theirs'), ...by(user(1)) });
    await store.addLink({ ...invitation('another'), ...by(user(0)) });
    await store.addLink(invitation('unknown'));
    await store.addLink({ ...invitation('own', 'owner', 'u1@b.c'), ...by(user(0)) });
    const digests = async () =>
      (await store.find(accountId)).links.map(({ digest }) => digest).toSorted();
    await store.setRole(accountId, user(1), 'owner', { email: 'u1@b.c' });
    assert.is((await digests()).length, 4);
    await store.setRole(accountId, user(1), 'viewer', { email: 'u1@b.c' });
    assert.equal(await digests(), ['another']);
    const { links } = await store.find(accountId);
    assert.equal(links[0]?.createdBy, { kind: 'user', id: `${prefix}u0` });
    await store.addLink(invitation('later'));
    await store.remove(accountId, user(1), { email: 'u1@b.c' });
    assert.equal(
      await digests(),
      ['another', 'later'],
      'links without a recorded creator stay after the removal of a viewer',
    );
  });
}

function copying(members: Test, open: Open): void {
  members('are copied into an empty account as a whole, and never over other members', async () => {
    const { store, prefix, accountId, invitation, setup, user } = await account(open);
    const member = (at: number, role: Role) => {
      return { accountId, userId: user(at), role, createdAtMs: at };
    };
    const people = {
      isClosed: false,
      members: [member(1, 'owner'), member(2, 'viewer')],
      links: [invitation('i'), setup('s')],
    };
    await store.put(accountId, people);
    await store.put(accountId, people);
    const found = await store.find(accountId);
    assert.equal(
      { ...found, links: found.links.toSorted((a, b) => (a.digest < b.digest ? -1 : 1)) },
      people,
    );
    assert.equal(await store.accountsOf(user(2)), [people.members[1]]);
    const others = { ...people, members: [member(1, 'owner')] };
    assert.is((await faultIn(store.put(accountId, others))).code, 'conflict');
    const closed = { isClosed: true, members: [], links: [] };
    await store.put(`${prefix}b`, closed);
    assert.equal(await store.find(`${prefix}b`), closed);
  });
}

function usingLinks(links: Test, open: Open): void {
  links('do not exist for an unknown account', async () => {
    const { store, accountId } = await account(open);
    assert.equal(await store.find(accountId), NO_PEOPLE);
  });

  links('create one member despite concurrent use', async () => {
    const { store, accountId, invitation, enter, fulfilled, user } = await account(open, 'owner');
    await store.addLink(invitation('i', 'developer'));
    assert.is(await fulfilled(enter('i', 'u1'), enter('i', 'u2'), enter('i', 'u3')), 1);
    assert.is((await faultIn(enter('i', 'u4'))).reason, 'link_not_usable');
    const { members, links: left } = await store.find(accountId);
    assert.equal(left, []);
    assert.equal(members.map(({ role }) => role).sort(), ['developer', 'owner']);
    assert.equal(await store.accountsOf(user(0)), [
      { accountId, userId: user(0), role: 'owner', createdAtMs: 20 },
    ]);
  });

  links('are invalid when expired or withdrawn', async () => {
    const { store, accountId, invitation, enter } = await account(open, 'owner');
    await store.addLink(invitation('old'));
    assert.is((await faultIn(enter('old', 'u1', 1_000))).reason, 'link_not_usable');
    assert.is((await faultIn(enter('unknown link', 'u1'))).reason, 'link_not_usable');
    await store.dropLink(accountId, 'old');
    assert.is((await faultIn(enter('old', 'u1'))).reason, 'link_not_usable');
    assert.is((await faultIn(store.dropLink(accountId, 'old'))).code, 'not_found');
  });

  links('replace an earlier link to the same address, and an earlier set-up link', async () => {
    const { store, accountId, invitation, setup, enter } = await account(open);
    await store.addLink(setup('s1'));
    await store.addLink(setup('s2'));
    await store.addLink(invitation('i1', 'viewer', 'x@b.c'));
    await store.addLink(invitation('i2', 'owner', 'x@b.c'));
    const digests = (await store.find(accountId)).links.map(({ digest }) => digest).sort();
    assert.equal(digests, ['i2', 's2']);
    const invited = (await store.find(accountId)).links.find(({ digest }) => digest === 'i2');
    assert.equal(invited, invitation('i2', 'owner', 'x@b.c'));
    assert.is((await enter('s2', 'u1')).role, 'owner');
  });

  links('that set up an account are invalid while the account has an owner', async () => {
    const { store, setup, enter } = await account(open, 'owner');
    await store.addLink(setup('late'));
    assert.is((await faultIn(enter('late', 'u9'))).reason, 'link_not_usable');
  });

  links('create no second membership of a user, and stay valid after the refusal', async () => {
    const { store, accountId, invitation, enter } = await account(open, 'owner');
    await store.addLink(invitation('i'));
    assert.is((await faultIn(enter('i', 'u0'))).reason, 'already_exists');
    assert.is((await store.find(accountId)).links.length, 1);
  });

  links('are limited in number per account', async () => {
    const { store, invitation } = await account(open);
    for (let at = 0; at < LINKS_MAX; at += 1) await store.addLink(invitation(`i${at}`));
    assert.is((await faultIn(store.addLink(invitation('over the limit')))).code, 'conflict');
    await store.addLink(invitation('again', 'viewer', 'i3@b.c'));
  });
}

function changingMembers(members: Test, open: Open): void {
  members('can change their role, and leave', async () => {
    const { store, accountId, user } = await account(open, 'owner', 'viewer');
    assert.is((await store.setRole(accountId, user(1), 'billing')).role, 'billing');
    assert.is((await store.accountsOf(user(1)))[0]?.role, 'billing');
    await store.remove(accountId, user(1));
    assert.equal(await store.accountsOf(user(1)), []);
    assert.is((await faultIn(store.remove(accountId, user(1)))).code, 'not_found');
    assert.is((await faultIn(store.setRole(accountId, user(1), 'owner'))).code, 'not_found');
  });

  members('keep one owner when two owners leave or step down concurrently', async () => {
    const { store, accountId, user, fulfilled } = await account(open, 'owner', 'owner', 'viewer');
    const applied = await fulfilled(
      store.remove(accountId, user(0)),
      store.setRole(accountId, user(1), 'developer'),
    );
    assert.is(applied, 1);
    const owners = (await store.find(accountId)).members.filter(({ role }) => role === 'owner');
    assert.is(owners.length, 1);
    const { userId = '' } = owners[0] ?? {};
    assert.is((await faultIn(store.remove(accountId, userId))).reason, 'last_owner');
    assert.is((await faultIn(store.setRole(accountId, userId, 'viewer'))).reason, 'last_owner');
  });

  members(
    'remain without an owner if the caller allows it, until a set-up link creates an owner',
    async () => {
      const { store, accountId, setup, invitation, enter, user } = await account(
        ...([open, 'owner', 'viewer'] as const),
      );
      await store.addLink(setup('s'));
      assert.is(
        (await faultIn(enter('s', 'u3'))).reason,
        'link_not_usable',
        'the account has an owner already',
      );
      await store.remove(accountId, user(0), { lastOwnerToo: true });
      await store.addLink(invitation('i'));
      await enter('i', 'u2');
      assert.is((await enter('s', 'u3')).role, 'owner');
      const roles = (await store.find(accountId)).members.map(({ role }) => role);
      assert.equal(roles.toSorted(), ['owner', 'viewer', 'viewer']);
    },
  );

  members('are found by user in every account, except in former accounts', async () => {
    const { store, prefix, invitation, enter, user } = await account(open, 'owner', 'viewer');
    const other = { ...invitation('o', 'billing'), accountId: `${prefix}b` };
    await store.addLink(other);
    await store.enter({ accountId: `${prefix}b`, digest: 'o', userId: user(1), atMs: 30 });
    const roles = (await store.accountsOf(user(1))).map(({ role }) => role);
    assert.equal(roles, ['viewer', 'billing']);
    await store.remove(`${prefix}a`, user(1));
    await store.addLink(invitation('back', 'developer'));
    await enter('back', 'u1');
    assert.is((await store.accountsOf(user(1)))[0]?.role, 'developer');
  });
}

function closing(members: Test, open: Open): void {
  members('of a closed account do not exist, and no user can enter', async () => {
    const { store, accountId, invitation, enter, user } = await account(open, 'owner', 'viewer');
    await store.addLink(invitation('i'));
    assert.equal((await store.close(accountId)).sort(), [user(0), user(1)]);
    assert.equal(await store.close(accountId), []);
    assert.equal(await store.find(accountId), { isClosed: true, members: [], links: [] });
    assert.equal(await store.accountsOf(user(0)), []);
    assert.is((await faultIn(enter('i', 'u5'))).reason, 'link_not_usable');
    assert.is((await faultIn(store.addLink(invitation('j')))).code, 'conflict');
  });
}
