import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AuditRow } from '#console/answers';
import type { Browser } from '#test/console/browser';
import { ACCOUNT_ID, openConsole, type TestConsole } from '#test/console/console-fixture';

/** Rows of the audit trail that match a query, newest first. */
async function rowsOf(owner: Browser, query = ''): Promise<AuditRow[]> {
  return (await owner.expect(200, 'GET', `/audit?limit=100${query}`)).body.data;
}

const summaryOf = ({ actor, action, target, result }: AuditRow) => [
  ...[actor.name, action, target?.name, result],
];

async function newInstance(owner: Browser, name: string): Promise<string> {
  return String((await owner.expect(201, 'POST', '/instances', { name })).data['id']);
}

/** Lets the time pass after which writes to instances count as done. */
const settle = ({ clock }: TestConsole) => clock.advance(20_000);

const actions = suite('an audited action');

actions('is one row with names, outcome and duration', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data } = await owner.expect(201, 'POST', '/keys', { name: 'ci', scope: 'read' });
  const path = `/keys/${data['id']}`;
  await owner.expect(200, 'PATCH', path, { name: 'ci-2' });
  await owner.expect(200, 'DELETE', path);
  assert.is((await owner.send('DELETE', '/keys/key_0000000000000000')).status, 404);
  const rows = await rowsOf(owner, '&action=key');
  assert.equal(rows.map(summaryOf), [
    ['Ada', 'key.revoke', undefined, 'refused'],
    ['Ada', 'key.revoke', 'ci-2', 'done'],
    ['Ada', 'key.rename', 'ci', 'done'],
    ['Ada', 'key.create', 'ci', 'done'],
  ]);
  const [unknown, revoked, renamed] = rows;
  assert.equal([unknown?.code, unknown?.lines.length], ['not_found', 2]);
  assert.equal(revoked?.actor.more, 'ada@example.com');
  assert.match(String(revoked?.target?.more), /^svc_sk_…\w{4}$/);
  assert.equal([renamed?.before?.['name'], renamed?.after?.['name']], ['ci', 'ci-2']);
  assert.is(typeof renamed?.duration_ms, 'number');
  assert.not.match(JSON.stringify(rows), /svc_sk_\w{20}/);
});

actions('on an instance is done when no refusal can follow', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner, 'Atlas');
  assert.is((await rowsOf(owner, '&action=instance'))[0]?.result, 'running');
  settle(desk);
  const stale = { 'if-match': '"0.0"' };
  assert.is((await owner.send('DELETE', `/instances/${id}`, undefined, stale)).status, 409);
  const results = async () => (await rowsOf(owner, '&action=instance')).map(summaryOf);
  assert.equal(await results(), [
    ['Ada', 'instance.delete', 'Atlas', 'refused'],
    ['Ada', 'instance.create', 'Atlas', 'done'],
  ]);
  const done = await rowsOf(owner, '&result=done&action=instance');
  assert.equal(done.map(summaryOf), [['Ada', 'instance.create', 'Atlas', 'done']]);
});

actions('of the console without a second line has an unknown outcome in the end', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const entry = { actor: { kind: 'operator', name: 'root' }, action: 'account.plan' } as const;
  await desk.ports.trail.append(ACCOUNT_ID, { ...entry, outcome: 'begun' });
  const plan = async () => (await rowsOf(owner, '&action=account.plan')).map(summaryOf);
  assert.equal(await plan(), [['root', 'account.plan', undefined, 'running']]);
  desk.clock.advance(10 * 60_000);
  assert.equal(await plan(), [['root', 'account.plan', undefined, 'unknown']]);
});

actions('of a former member keeps the name of the member', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const member = await desk.member(owner, 'grace@example.com', 'developer');
  await newInstance(member, 'Atlas');
  const { data: me } = await member.expect(200, 'GET', '/me');
  await owner.expect(200, 'DELETE', `/members/${(me['user'] as { id: string }).id}`);
  const [created] = await rowsOf(owner, '&action=instance');
  assert.equal([created?.actor.name, created?.actor.more], ['A Member', 'grace@example.com']);
  const [removed] = await rowsOf(owner, '&action=member.remove');
  assert.equal(removed && summaryOf(removed), ['Ada', 'member.remove', 'A Member', 'done']);
});

const search = suite('a search in the audit trail');

search('finds who deleted an instance, by the name that it had', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const grace = await desk.member(owner, 'grace@example.com', 'developer');
  const id = await newInstance(owner, 'Draft');
  await newInstance(owner, 'Other');
  await owner.expect(200, 'PATCH', `/instances/${id}`, { name: 'Atlas' });
  await grace.expect(200, 'DELETE', `/instances/${id}`);
  settle(desk);
  assert.equal((await rowsOf(owner, '&search=%20aTLAS')).map(summaryOf), [
    ['A Member', 'instance.delete', 'Atlas', 'done'],
    ['Ada', 'instance.update', 'Draft', 'done'],
  ]);
});

search('finds keys and members by name, email, masked value or id', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const grace = await desk.member(owner, 'grace@example.com', 'developer');
  const { data: key } = await grace.expect(201, 'POST', '/keys', { name: 'ci', scope: 'read' });
  await owner.expect(200, 'DELETE', `/keys/${key['id']}`);
  const found = async (text: string) => {
    const rows = await rowsOf(owner, `&search=${encodeURIComponent(text)}`);
    return rows.map(({ action }) => action);
  };
  assert.equal(await found('ci'), ['key.revoke', 'key.create']);
  assert.equal(await found(String(key['masked'])), ['key.revoke', 'key.create']);
  assert.equal(await found(String(key['id'])), ['key.revoke', 'key.create']);
  const ofGrace = ['key.create', 'session.begin', 'member.join', 'member.invite'];
  assert.equal(await found('GRACE@'), ofGrace);
  assert.equal(await found('nobody'), []);
});

search('reads users once, however many lines name them', async () => {
  let reads = 0;
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (let n = 0; n < 8; n += 1) {
    await owner.expect(201, 'POST', '/keys', { name: `key ${n}`, scope: 'read' });
  }
  const { users } = desk.ports;
  const find = users.find.bind(users);
  users.find = async (id) => {
    reads += 1;
    return await find(id);
  };
  assert.is((await rowsOf(owner, '&search=key%20')).length, 8);
  assert.is(reads, 2, 'one read of the session, and one read of the name');
});

search('is refused with 400 for an invalid query', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  for (const query of ['cursor=x', 'result=fine', 'search=', 'from=yesterday', 'actor=usr_1']) {
    assert.is((await owner.send('GET', `/audit?${query}`)).status, 400, query);
  }
});

for (const each of [actions, search]) each.run();
