import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import type { Role, User } from '#accounts/people';
import type { ClusterPorts } from '#ctl/command';
import { Fault } from '#errors/fault';
import { systemClock } from '#stdlib/clock';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import type { Cluster } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';

/** Ada owns FIRST and SECOND. Bob is a viewer of FIRST and owns SECOND. THIRD has no members. */
const [FIRST, SECOND, THIRD] = ['account00001', 'account00002', 'account00003'] as const;

const HOUR_MS = 60 * 60_000;

function account(id: string): Account {
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 };
  return { id, name: id, plan: 'free', status: 'active', createdAtMs: 1, limits };
}

function user(name: string): User {
  return {
    ...{
      id: `usr_${name.padStart(16, '0').replace(/[^0-9a-f]/g, '0')}`,
      email: `${name}@b.example`,
    },
    ...{ name, passwordHash: 'h', credentialsVersion: 1, createdAtMs: 1 },
    ...{ recoveryDigests: [], deviceDigests: [] },
  };
}

const ADA = user('ada');
const BOB = { ...user('bob'), id: 'usr_00000000000000bb' };
const EVE = 'eve@b.example';

async function scene(): Promise<Cluster> {
  const cluster = await clusterInMemory([]);
  const { accounts, people } = cluster.stores;
  for (const id of [FIRST, SECOND, THIRD]) await accounts.create(account(id));
  const secondFactor = { state: 'active', sealedSecret: 's', lastStep: 1 } as const;
  await people.users.create({ ...ADA, secondFactor });
  await people.users.create(BOB);
  await joins(cluster, ADA, FIRST, 'owner');
  await joins(cluster, ADA, SECOND, 'owner');
  await joins(cluster, BOB, FIRST, 'viewer');
  await joins(cluster, BOB, SECOND, 'owner');
  await invited(cluster, EVE, SECOND, 'billing');
  return cluster;
}

async function invited(
  cluster: Cluster,
  email: string,
  accountId: string,
  role: Role,
  maker = ADA,
) {
  const digest = `${accountId}${email}`.padEnd(43, '0');
  const nowMs = systemClock.wallMs();
  const times = { createdAtMs: nowMs, expiresAtMs: nowMs + HOUR_MS };
  const createdBy = { kind: 'user', id: maker.id } as const;
  const link = { kind: 'invitation', accountId, digest, email, role, createdBy, ...times } as const;
  await cluster.stores.people.members.addLink(link);
  return digest;
}

/** Joins an account by an invitation, and signs in. */
async function joins(cluster: Cluster, { id, email }: User, accountId: string, role: Role) {
  const digest = await invited(cluster, email, accountId, role);
  const { members, sessions } = cluster.stores.people;
  const nowMs = systemClock.wallMs();
  await members.enter({ accountId, digest, userId: id, atMs: nowMs });
  await sessions.create({
    ...{ digest, userId: id, accountId, authenticatedBy: 'password', credentialsVersion: 1 },
    ...{ createdAtMs: nowMs, lastSeenAtMs: nowMs, address: '192.0.2.1', client: 'a browser' },
  });
}

type More = { readonly typed?: string; readonly changed?: Partial<ClusterPorts> };

function run(cluster: Cluster, argv: readonly string[], { typed, changed = {} }: More = {}) {
  const target = { cluster: { ...cluster.ports, ...changed } };
  return ctl(['users', ...argv], typed === undefined ? target : { ...target, typed });
}

/** User id and role of each member of an account, followed by the invited emails. */
async function peopleIn({ stores }: Cluster, accountId: string): Promise<string[]> {
  const { members, links } = await stores.people.members.find(accountId);
  const invitations = links.map((link) => (link.kind === 'invitation' ? link.email : link.kind));
  return [...members.map(({ userId, role }) => `${userId} ${role}`), ...invitations];
}

async function linesOf({ stores }: Cluster, accountId: string) {
  const [month = ''] = await stores.audit.months(accountId);
  const head = await stores.audit.head(accountId, month);
  const lines = await stores.audit.read(accountId, month, head?.lines ?? 0, 100);
  return lines.map(({ text }) => JSON.parse(text));
}

const listing = suite('ctl users list');

listing('shows members with their roles and second factors, and invited emails', async () => {
  await using cluster = await scene();
  const { code, out, err } = await run(cluster, ['list', SECOND]);
  assert.is(code, 0, err);
  assert.match(out, /^USER +EMAIL +NAME +ROLE +STATUS +SECOND FACTOR +SINCE +EXPIRES$/m);
  assert.match(out, new RegExp(`^${ADA.id} +ada@b.example +ada +owner +member +yes `, 'm'));
  assert.match(out, new RegExp(`^${BOB.id} +bob@b.example +bob +owner +member +no .* -$`, 'm'));
  assert.match(out, /^- +eve@b.example +- +billing +invited +- +\S+Z +\S+Z$/m);
  const shown = JSON.parse((await run(cluster, ['list', SECOND, '--json'])).out);
  assert.equal(
    shown.map(({ email }: { email: string }) => email),
    ['ada@b.example', 'bob@b.example', EVE],
  );
  assert.not.match(JSON.stringify(shown), /passwordHash|digest|sealed/);
});

listing('requires an existing account', async () => {
  await using cluster = await scene();
  const { code, err } = await run(cluster, ['list', 'Nobody000001']);
  assert.equal([code, err], [4, 'ctl: there is no account "Nobody000001"']);
});

const removal = suite('ctl users remove');

for (const named of [BOB.id, ' Bob@B.example']) {
  removal(`removes the user ${JSON.stringify(named)} from every account`, async () => {
    await using cluster = await scene();
    await invited(cluster, BOB.email, THIRD, 'owner');
    const { code, out, err } = await run(cluster, ['remove', named], { typed: BOB.email });
    assert.is(code, 0, err);
    assert.match(out, `User ${BOB.id} (${BOB.email}) is removed; 1 invitation withdrawn.`);
    assert.match(out, `Accounts affected: ${FIRST}, ${SECOND}, ${THIRD}.`);
    assert.equal(await peopleIn(cluster, FIRST), [`${ADA.id} owner`]);
    assert.equal(await peopleIn(cluster, SECOND), [`${ADA.id} owner`, EVE]);
    assert.equal(await peopleIn(cluster, THIRD), []);
    const { users, sessions } = cluster.stores.people;
    assert.is(await users.find(BOB.id), undefined);
    assert.is(await users.findByEmail(BOB.email), undefined, 'another user can have the email');
    assert.equal(await sessions.listOf(BOB.id), []);
    assert.is((await sessions.listOf(ADA.id)).length, 2);
  });
}

// Report 10: an owner whom an operator removed returned with an earlier invitation.
removal('revokes the person’s invitations, and lists keys that the person created', async () => {
  await using cluster = await scene();
  await invited(cluster, 'friend@b.example', SECOND, 'owner', BOB);
  const createdBy = { kind: 'user', id: BOB.id } as const;
  const key = { id: 'key_00000000000000b0', digest: 'd', scope: 'full', createdAtMs: 2 } as const;
  await cluster.stores.accounts.changeKeys(SECOND, () => {
    return { put: [{ ...key, createdBy }], answer: undefined };
  });
  const { code, out, err } = await run(cluster, ['remove', BOB.id, '--yes']);
  assert.is(code, 0, err);
  assert.match(out, '1 invitation withdrawn.');
  assert.match(out, `Rotate or revoke them: ${key.id}`);
  assert.equal(await peopleIn(cluster, SECOND), [`${ADA.id} owner`, EVE]);
});

removal('writes audit lines for every affected account, and for no other account', async () => {
  await using cluster = await scene();
  await invited(cluster, BOB.email, THIRD, 'owner');
  await run(cluster, ['remove', BOB.email, '--yes']);
  const [ended, line] = await linesOf(cluster, FIRST);
  assert.is(ended.outcome, 'done');
  assert.equal(
    [line.action, line.target, line.before, line.outcome, line.actor.kind],
    ['member.remove', BOB.id, { role: 'viewer' }, 'begun', 'operator'],
  );
  const [, back] = await linesOf(cluster, THIRD);
  assert.equal(
    [back.action, back.before],
    ['member.uninvite', { email: BOB.email, role: 'owner' }],
  );
  assert.is((await linesOf(cluster, SECOND)).length, 2);
  await run(cluster, ['remove', EVE, '--yes']);
  assert.is((await linesOf(cluster, FIRST)).length, 2);
});

removal('does nothing if one of its audit lines cannot be written', async () => {
  await using cluster = await scene();
  const { audit } = cluster.stores;
  const append: typeof audit.append = async (accountId, head, lines) => {
    if (accountId === SECOND) throw new Fault('service_unavailable', 'down');
    return await audit.append(accountId, head, lines);
  };
  const changed = { audit: { ...audit, append } };
  const { code, err } = await run(cluster, ['remove', BOB.email, '--yes'], { changed });
  assert.is(code, 1);
  assert.match(err, /audit trail cannot be written/);
  assert.is((await peopleIn(cluster, FIRST)).length, 2);
  assert.is((await cluster.stores.people.sessions.listOf(BOB.id)).length, 2);
  assert.ok(await cluster.stores.people.users.find(BOB.id));
});

removal('keeps the last owner of an account unless --yes is given', async () => {
  await using cluster = await scene();
  const refused = await run(cluster, ['remove', ADA.email], { typed: ADA.email });
  assert.is(refused.code, 1);
  assert.match(
    refused.err,
    new RegExp(`^ctl: ${ADA.email} is the last owner of account ${FIRST}:`),
  );
  assert.is((await peopleIn(cluster, SECOND)).length, 3, 'nothing was changed');
  assert.equal(await linesOf(cluster, FIRST), []);
  const done = await run(cluster, ['remove', ADA.email, '--yes']);
  assert.is(done.code, 0, done.err);
  assert.match(done.out, `has no owner now. Invite an owner: ctl users setup-link ${FIRST}`);
  assert.equal(await peopleIn(cluster, FIRST), [`${BOB.id} viewer`]);
  const link = await run(cluster, ['setup-link', FIRST]);
  assert.is(link.code, 0, link.err);
  assert.match((await run(cluster, ['setup-link', SECOND])).err, /has an owner already/);
});

removal('asks for the email, and removes nothing after a wrong or missing answer', async () => {
  await using cluster = await scene();
  const wrong = await run(cluster, ['remove', BOB.id], { typed: ADA.email });
  assert.equal([wrong.code, wrong.err], [1, 'ctl: the email does not match: nothing was removed']);
  assert.match((await run(cluster, ['remove', BOB.id])).err, /no terminal for .*: add --yes/);
  assert.is((await peopleIn(cluster, FIRST)).length, 2);
});

removal('revokes open invitations of an email without a user', async () => {
  await using cluster = await scene();
  const { code, out } = await run(cluster, ['remove', EVE, '--yes']);
  assert.is(code, 0);
  assert.match(out, `No user had the email ${EVE}; 1 invitation withdrawn.`);
  assert.equal((await peopleIn(cluster, SECOND)).includes(EVE), false);
  const again = await run(cluster, ['remove', EVE, '--yes']);
  assert.is(again.err, `ctl: no user and no open invitation has the email "${EVE}"`);
});

removal('continues in a second run after an interruption before the deletion', async () => {
  await using cluster = await scene();
  const { people } = cluster.stores;
  const remove = async () => false;
  const changed = { people: { ...people, users: { ...people.users, remove } } };
  const cut = await run(cluster, ['remove', BOB.email, '--yes'], { changed });
  assert.match(cut.err, /changed or joined an account meanwhile: run the command again$/);
  const again = await run(cluster, ['remove', BOB.email, '--yes']);
  assert.is(again.code, 0, again.err);
  assert.is(await people.users.find(BOB.id), undefined);
});

for (const [exitCode, named, refusal] of [
  [4, 'usr_0000000000000000', 'there is no user "usr_0000000000000000"'],
  [2, 'Bob', '"Bob" is neither an email nor the id of a user'],
] as const) {
  removal(`is refused for ${named}, with the reason`, async () => {
    await using cluster = await scene();
    const { code, err } = await run(cluster, ['remove', named, '--yes']);
    assert.equal([code, err], [exitCode, `ctl: ${refusal}`]);
  });
}

for (const group of [listing, removal]) group.run();
