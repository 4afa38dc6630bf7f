import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AuditRow } from '#console/answers';
import type { Browser, Reply } from '#test/console/browser';
import {
  ACCOUNT_ID,
  OTHER_ACCOUNT_ID,
  openConsole,
  type TestConsole,
} from '#test/console/console-fixture';

const NEW = { name: 'Iris' };
const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.7 };
const UNKNOWN = 'inst_00000000000000ff';

/** Instance endpoints that read, with valid bodies. `:id` stands for an instance. */
const READS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/instances'],
  ['GET', '/instances/:id'],
  ['GET', '/instances/:id/snapshot'],
  ['GET', '/instances/:id/contract'],
  ['GET', '/instances/:id/history'],
  ['GET', '/instances/:id/drift'],
  ['POST', '/instances/:id/simulate', { observations: [OBSERVATION] }],
  ['GET', '/test/questions'],
  ['GET', '/personas'],
  ['GET', '/personas/persona_analytical'],
];
const WRITES: typeof READS = [
  ['POST', '/instances', NEW],
  ['PATCH', '/instances/:id', { name: 'Iris the second' }],
  ['POST', '/instances/:id/process', OBSERVATION],
  ['POST', '/instances/:id/process/batch', { observations: [OBSERVATION] }],
  ['POST', '/instances/:id/reset', { mode: 'initial' }],
  ['DELETE', '/instances/:id'],
];
const EVERY = [...READS, ...WRITES];

/** Sends a request of `EVERY` from a browser, a second after the previous request. */
async function ask(
  { clock }: TestConsole,
  browser: Browser,
  id: string,
  [method, path, body]: (typeof EVERY)[number],
  headers: Record<string, string | undefined> = {},
): Promise<Reply> {
  clock.advance(1_000);
  return await browser.send(method, path.replace(':id', id), body, headers);
}

async function newInstance(browser: Browser): Promise<string> {
  return String((await browser.expect(201, 'POST', '/instances', NEW)).data['id']);
}

const served = suite('the console endpoints for instances');

served('answer a member as the API answers a key', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const created = await owner.expect(201, 'POST', '/instances', NEW);
  const id = String(created.data['id']);
  assert.is(created.headers['location'], `/api/instances/${id}`);
  assert.match(String(created.headers['etag']), /^".+"$/);
  for (const each of EVERY) {
    const { status, headers } = await ask(desk, owner, id, each);
    assert.is(status, each[1] === '/instances' && each[0] === 'POST' ? 201 : 200, each.join(' '));
    assert.match(String(headers['x-ratelimit-limit']), /^\d+$/, each.join(' '));
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/);
    assert.is(headers['cache-control'], 'no-store');
    assert.is(headers['set-cookie'], undefined);
    assert.is(headers['access-control-allow-origin'], undefined);
  }
  assert.is((await owner.send('GET', `/instances/${id}`)).status, 404, 'the instance is deleted');
});

served('search, refuse invalid requests and check preconditions as the API does', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  await owner.expect(201, 'POST', '/instances', { name: 'Order bot' });
  const { body } = await owner.expect(200, 'GET', '/instances?search=IRI&limit=1');
  assert.equal([body.pagination.total, body.data[0].id], [1, id]);
  const refused = await owner.send('GET', '/instances?limit=0');
  assert.equal([refused.status, refused.reason], [400, 'invalid_parameter']);
  const wrong = await owner.send('POST', `/instances/${id}/process`, { mode_target: 'X' });
  assert.is(wrong.status, 422);
  const broken = await owner.send('POST', '/instances', '{');
  assert.equal([broken.status, broken.reason], [400, 'malformed_json']);
  const guarded = await owner.send('PATCH', `/instances/${id}`, NEW, { 'if-match': '"old"' });
  assert.is(guarded.status, 409);
  const { headers } = await owner.expect(200, 'GET', `/instances/${id}`);
  const known = { 'if-none-match': String(headers['etag']) };
  assert.is((await owner.send('GET', `/instances/${id}`, undefined, known)).status, 304);
  const large = { name: 'x'.repeat(40_000) };
  assert.is((await owner.send('POST', '/instances', large)).reason, 'body_too_large');
});

served('replay the answer for a repeated Idempotency-Key', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const key = { 'idempotency-key': 'once' };
  const first = await owner.send('POST', '/instances', NEW, key);
  const again = await owner.send('POST', '/instances', NEW, key);
  assert.equal([first.status, again.status], [201, 201]);
  assert.is(again.data['id'], first.data['id']);
  assert.is(again.headers['idempotent-replayed'], 'true');
  const other = await owner.send('POST', '/instances', { name: 'Another' }, key);
  assert.is(other.reason, 'idempotency_key_reused');
});

served('count requests and cycles of all members for the account', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const developer = await desk.member(owner, 'dev@example.com', 'developer');
  const id = await newInstance(owner);
  const before = await desk.ports.usage.usage(ACCOUNT_ID);
  for (const browser of [owner, developer]) {
    await ask(desk, browser, id, ['POST', '/instances/:id/process', OBSERVATION]);
  }
  const after = await desk.ports.usage.usage(ACCOUNT_ID);
  assert.is((after?.cyclesUsed ?? 0) - (before?.cyclesUsed ?? 0), 2);
  assert.is((after?.requestsInWindow ?? 0) - (before?.requestsInWindow ?? 0), 2);
  const { data } = await owner.expect(200, 'GET', '/usage');
  assert.is(data['cycles_used'], after?.cyclesUsed);
  assert.is((await desk.ports.usage.usage(OTHER_ACCOUNT_ID))?.cyclesUsed, 0);
});

served('refuse requests beyond the plan’s limit a minute, with the time to wait', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const limits = { requestsPerMinute: 3, cyclesPerMonth: 10, instances: 10 };
  await desk.admin.setPlan(ACCOUNT_ID, { plan: 'enterprise', limits });
  for (let n = 0; n < 3; n += 1) await owner.expect(200, 'GET', '/instances');
  const limited = await owner.send('GET', '/instances');
  assert.equal([limited.status, limited.error], [429, 'rate_limited']);
  assert.match(String(limited.headers['retry-after']), /^\d+$/);
  await owner.expect(200, 'GET', '/me');
});

served('answer 503 while the limiter runs a release without members', async () => {
  const ask = () => ({ verdict: 'unknown_key', allowance: undefined }) as const;
  await using desk = await openConsole({}, { limiter: { ask } });
  const owner = await desk.owner();
  const { status, reason, headers } = await owner.send('GET', '/instances');
  assert.equal([status, reason, headers['retry-after']], [503, 'upgrade_in_progress', '5']);
});

served('write an audit line with user, session, address and request', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  for (const each of WRITES.filter(([, path]) => path !== '/instances')) {
    await ask(desk, owner, id, each, { 'x-request-id': 'request-1234' });
  }
  const { body } = await owner.expect(200, 'GET', `/audit?action=instance&search=${id}`);
  const { data: me } = await owner.expect(200, 'GET', '/me');
  const { user, session } = me as Record<string, { id: string }>;
  const actions = body.data.map(({ action, lines }: AuditRow) => [action, lines.length]);
  assert.equal(actions, [
    ['instance.delete', 1],
    ['instance.reset', 1],
    ['instance.update', 1],
    ['instance.create', 1],
  ]);
  const [deleted] = body.data;
  const { kind, id: actorId, session: sessionId } = deleted.actor;
  assert.equal([kind, actorId, sessionId], ['user', user?.id, session?.id]);
  assert.equal([deleted.address, deleted.request_id], ['203.0.113.7', 'request-1234']);
});

const roles = suite('a member with the role');

for (const [role, mayRead, mayWrite] of [
  ['developer', true, true],
  ['viewer', true, false],
  ['billing', false, false],
] as const) {
  const reads = mayRead ? 'reads' : 'does not read';
  const changes = mayWrite ? 'changes' : 'does not change';
  roles(`${role} ${reads} and ${changes} instances`, async () => {
    await using desk = await openConsole();
    const owner = await desk.owner();
    const id = await newInstance(owner);
    const member = await desk.member(owner, 'member@example.com', role);
    for (const [may, list] of [
      [mayRead, READS],
      [mayWrite, WRITES],
    ] as const) {
      for (const each of list) {
        const { status, reason } = await ask(desk, member, id, each);
        if (may) assert.ok(status < 300, `${each.join(' ')}: ${status}`);
        else assert.equal([status, reason], [403, 'role_not_allowed'], each.join(' '));
      }
    }
    if (!mayWrite) await owner.expect(200, 'GET', `/instances/${id}`);
  });
}

const others = suite('an instance of another account');

others('is not found on any route, and is in no list', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  const stranger = await desk.owner('bob@example.com', OTHER_ACCOUNT_ID);
  for (const each of EVERY.filter(([, path]) => path.includes(':id'))) {
    const known = await ask(desk, stranger, id, each);
    const unknown = await ask(desk, stranger, UNKNOWN, each);
    assert.is(known.status, 404, each.join(' '));
    assert.equal(known.body, unknown.body, 'like an instance that does not exist');
  }
  const { body } = await stranger.expect(200, 'GET', `/instances?search=${id}`);
  assert.is(body.pagination.total, 0);
  const { body: trail } = await owner.expect(200, 'GET', '/audit?action=instance&limit=100');
  assert.equal(trail.data.length, 1, 'only the creation');
});

const requests = suite('a console request for instances');

requests('without a session is answered 401 before its body is read', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const visitor = desk.browser();
  for (const each of [...EVERY, ['GET', '/instances/:id/events'] as const]) {
    const { status, reason, headers } = await ask(desk, visitor, UNKNOWN, each);
    assert.equal([status, reason], [401, 'sign_in_needed'], each.join(' '));
    assert.is(headers['www-authenticate'], undefined);
  }
  assert.is((await visitor.send('POST', '/instances', '{')).status, 401);
});

requests('after the session has ended is answered 401', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const cookies = [...owner.cookies];
  await owner.expect(204, 'POST', '/sign-out', {});
  for (const [name, value] of cookies) owner.cookies.set(name, value);
  assert.is((await owner.send('GET', '/instances')).reason, 'sign_in_needed');
});

requests('from another site’s page changes nothing, whatever its cookie', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const id = await newInstance(owner);
  for (const each of WRITES) {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: undefined },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const { status, reason } = await ask(desk, owner, id, each, headers);
      assert.equal([status, reason], [403, 'cross_site_request'], each.join(' '));
    }
    const form = await ask(desk, owner, id, each, { 'content-type': 'text/plain' });
    assert.is(form.reason, 'unsupported_media_type');
  }
  const { body } = await owner.expect(200, 'GET', '/instances');
  assert.equal([body.pagination.total, body.data[0].name], [1, 'Iris']);
});

requests('with an API key is refused, with and without a session', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  const { data } = await owner.expect(201, 'POST', '/keys', { name: 'One', scope: 'full' });
  const authorization = `Bearer ${data['key']}`;
  for (const browser of [owner, desk.browser()]) {
    const reply = await browser.send('GET', '/instances', undefined, { authorization });
    assert.equal([reply.status, reply.reason], [400, 'api_key_not_accepted']);
  }
});

requests('to an API path outside of instances is answered 404', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  assert.is((await owner.send('GET', '/account')).status, 404);
  assert.is((await owner.send('POST', '/billing/notifications', {})).status, 404);
  assert.is((await owner.send('GET', '/v1/instances')).status, 404);
});

for (const each of [served, roles, others, requests]) each.run();
