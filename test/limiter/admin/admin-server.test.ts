import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseApiKey } from '#accounts/api-key';
import { serveAdmin } from '#limiter/admin/server';
import { isLoopbackAddress, isLoopbackHost } from '#stdlib/network';
import { adminUnderTest } from '#test/limiter/admin/admin-fixture';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import { NO_OVERVIEW } from '#test/support/no-overview';

const SHOWN = `Bearer ${ADMIN_TOKEN}`;

const lifecycle = suite('an account on the admin port');

lifecycle('can be created, listed, moved to other plans, suspended and resumed', async () => {
  await using port = await adminUnderTest();
  const { status, data } = await port.send('POST', '/accounts', { name: 'Zoë', plan: 'indie' });
  assert.is(status, 200);
  const limits = { requests_per_minute: 60, cycles_per_month: 100_000, instances: 10_000 };
  const expected = { id: data.id, name: 'Zoë', plan: 'indie', status: 'active', limits };
  assert.equal(data, { ...expected, created_at: '2026-01-15T12:00:00.000Z' });
  const path = `/accounts/${data.id}`;

  assert.is((await port.send('PUT', `${path}/plan`, { plan: 'pro' })).data.plan, 'pro');
  const agreed = { requests_per_minute: 7, cycles_per_month: 8 };
  const custom = { plan: 'enterprise', limits: agreed };
  const unless = { ...agreed, instances: 1_000_000 };
  assert.equal((await port.send('PUT', `${path}/plan`, custom)).data.limits, unless);
  const said = { plan: 'enterprise', limits: { ...agreed, instances: 5 } };
  assert.equal((await port.send('PUT', `${path}/plan`, said)).data.limits, said.limits);
  const suspended = await port.send('PUT', `${path}/status`, { status: 'suspended' });
  assert.is(suspended.data.status, 'suspended');

  const { data: all } = await port.send('GET', '/accounts');
  assert.is(all.length, 2);
  const one = all.find(({ id }: { id: string }) => id === data.id);
  assert.equal([one.plan, one.status], ['enterprise', 'suspended']);
  const { data: behind } = await port.send('GET', `/accounts?limit=1&after=${all[0].id}`);
  assert.equal(behind, [all[1]]);
});

lifecycle(
  'gets a new key, which is shown once, listed without its secret and revoked immediately',
  async () => {
    await using port = await adminUnderTest();
    const keys = `/accounts/${port.fixture.id}/keys`;
    const expires_at = '2026-02-01T00:00:00.000Z';
    const { data: made } = await port.send('POST', keys, { scope: 'read', expires_at });
    assert.equal(parseApiKey(made.key), { accountId: port.fixture.id });
    const { key, ...shown } = made;
    assert.equal([shown.scope, shown.status, shown.expires_at], ['read', 'active', expires_at]);
    assert.is((await port.fixture.admitKey(key)).verdict, 'read_only_key');

    const listed = await port.send('GET', keys);
    assert.equal(listed.data[1], { ...shown, hints: [] });
    assert.not.ok(listed.text.includes(key.slice(19, 51)), 'the list has no secret');
    assert.not.ok(/digest/.test(listed.text), 'the list has no digest');

    const { data: revoked } = await port.send('DELETE', `${keys}/${made.id}`);
    assert.equal([revoked.status, revoked.revoked_at], ['revoked', '2026-01-15T12:00:00.000Z']);
    assert.is((await port.fixture.admitKey(key)).verdict, 'unknown_key');
    await port.send('POST', keys, { scope: 'full', expires_at });
    port.fixture.clock.stepWall(32 * 86_400_000);
    const states = (await port.send('GET', keys)).data.map(
      ({ status }: { status: string }) => status,
    );
    assert.equal(states, ['active', 'revoked', 'expired']);
  },
);

lifecycle('shows its usage', async () => {
  await using port = await adminUnderTest();
  const path = `/accounts/${port.fixture.id}/usage`;
  const fresh = await port.send('GET', path);
  assert.is(fresh.data.window_resets_at, undefined);
  await port.fixture.admit(1, 3);
  await port.fixture.settle(1, 2);
  await port.fixture.admit(2, 4);
  const { keys, ...usage } = (await port.send('GET', path)).data;
  assert.equal(
    keys.map(({ cycles }: { cycles: number }) => cycles),
    [2],
  );
  assert.equal(usage, {
    account_id: port.fixture.id,
    requests_per_minute: 60,
    requests_in_window: 2,
    window_resets_at: '2026-01-15T12:01:00.000Z',
    cycles_per_month: 100,
    cycles_used: 2,
    cycles_reserved: 4,
    cycles_remaining: 94,
    month_ends_at: '2026-02-01T00:00:00.000Z',
    month_mark: 18,
    window_mark: 18,
    cycles_expired: 0,
    cycles_lost: 0,
    days: Array.from({ length: 15 }, (_, index) => ({
      date: `2026-01-${String(index + 1).padStart(2, '0')}`,
      cycles: index === 14 ? 2 : 0,
    })),
    other_cycles: 0,
  });
});

const wrong = suite('an invalid request to the admin port');

wrong('is refused with the name of the field, and changes nothing', async () => {
  await using port = await adminUnderTest();
  const limits = { requests_per_minute: 1, cycles_per_month: 1 };
  const bodies: [object, string | undefined][] = [
    [{ plan: 'free' }, 'name'],
    [{ name: '', plan: 'free' }, 'name'],
    [{ name: 'x'.repeat(101), plan: 'free' }, 'name'],
    [{ name: 'red \u001b[31m', plan: 'free' }, 'name'],
    [{ name: 'a', plan: 'gold' }, 'plan'],
    [{ name: 'a' }, 'plan'],
    [{ name: 'a', plan: 'free', limits }, undefined],
    [{ name: 'a', plan: 'free', id: 'mine' }, undefined],
    [{ name: 'a', plan: 'enterprise' }, 'limits'],
    [
      { name: 'a', plan: 'enterprise', limits: { ...limits, cycles_per_month: 0 } },
      'limits.cycles_per_month',
    ],
    [
      { name: 'a', plan: 'enterprise', limits: { ...limits, requests_per_minute: 1.5 } },
      'limits.requests_per_minute',
    ],
    [[], undefined],
  ];
  for (const [body, field] of bodies) {
    const { status, json } = await port.send('POST', '/accounts', body);
    assert.equal([status, json.error], [422, 'invalid_request'], JSON.stringify(body));
    assert.is(json.details.reason, 'wrong_type');
    if (field === undefined) continue;
    assert.is(json.details.field, field);
    assert.ok(json.message.startsWith(`${field}: `), json.message);
  }
  assert.is((await port.send('GET', '/accounts')).data.length, 1);
});

wrong('gets 404 for an unknown object, and 400 for an invalid parameter', async () => {
  await using port = await adminUnderTest();
  const paths = ['/', '/accounts/', '/accounts/Nobody000001', '/accounts/Nobody000001/usage'];
  for (const path of [...paths, '/accounts/..%2f/keys', '/accounts/Nobody000001/keys']) {
    const { status, json } = await port.send('GET', path);
    assert.equal([status, json.error], [404, 'not_found'], path);
  }
  const unknownKey = `/accounts/${port.fixture.id}/keys/key_0`;
  assert.is((await port.send('DELETE', unknownKey)).status, 404);
  assert.is((await port.send('GET', '/accounts?limit=0')).status, 400);
  const unknown = await port.send('GET', '/accounts?depth=1');
  assert.equal([unknown.status, unknown.json.details.reason], [400, 'invalid_parameter']);
});

wrong('is refused if its body is not JSON, not declared as JSON, or too large', async () => {
  await using port = await adminUnderTest();
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'a', plan: 'free' });
  assert.is((await port.raw('POST', '/accounts', json, '{')).status, 400);
  assert.is(
    (await port.raw('POST', '/accounts', { 'content-type': 'text/plain' }, body)).status,
    415,
  );
  assert.is((await port.raw('POST', '/accounts', {}, body)).status, 415);
  assert.is((await port.raw('POST', '/accounts', json, ' '.repeat(16_385))).status, 413);
  assert.is((await port.raw('POST', '/accounts', json, ' '.repeat(200_000))).status, 413);
  assert.is((await port.raw('POST', '/accounts', json, '')).status, 422);
  assert.is((await port.send('GET', '/accounts')).data.length, 1);
});

const web = suite('a web page that calls the admin port');

web('is refused if its request has a foreign host name', async () => {
  await using port = await adminUnderTest();
  for (const host of [
    'evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    'a@localhost',
  ]) {
    const { status, json } = await port.raw('GET', '/accounts', { host }, '');
    assert.equal([status, json.error], [403, 'forbidden'], host);
  }
  for (const host of ['localhost:8002', 'LOCALHOST', '127.0.0.1', '[::1]:99']) {
    assert.is((await port.raw('GET', '/accounts', { host }, '')).status, 200, host);
  }
});

web('is refused if its request has an origin, even the origin of this machine', async () => {
  await using port = await adminUnderTest();
  for (const origin of ['https://evil.example', 'null', 'http://localhost:3000']) {
    assert.is((await port.raw('GET', '/accounts', { origin }, '')).status, 403, origin);
  }
});

const unproven = suite('a caller without the token of the admin port');

unproven('is refused for every request, and nothing changes', async () => {
  await using port = await adminUnderTest();
  const body = JSON.stringify({ name: 'a', plan: 'free' });
  const json = { 'content-type': 'application/json' };
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${ADMIN_TOKEN}`,
    ADMIN_TOKEN,
    `Bearer ${ADMIN_TOKEN}x`,
    `Bearer ${ADMIN_TOKEN.slice(1)}`,
    `Bearer ${ADMIN_TOKEN.toUpperCase()}`,
    `Bearer ${ADMIN_TOKEN} ${ADMIN_TOKEN}`,
  ]) {
    for (const [method, path] of [
      ['GET', '/accounts'],
      ['GET', '/nowhere'],
      ['POST', '/accounts'],
    ] as const) {
      const asked = await port.raw(method, path, { ...json, authorization }, body);
      assert.equal([asked.status, asked.json.error], [401, 'unauthorized'], authorization);
    }
  }
  assert.is((await port.send('GET', '/accounts')).data.length, 1);
  assert.equal(port.changes, []);
});

const listen = suite('the admin port');

listen('never listens on an address that other machines can reach', async () => {
  const { admin, audit: trail } = (await limiterUnderTest(custom(1, 1))).limiter;
  for (const host of ['0.0.0.0', '::', '', '10.1.2.3', 'localhost', 'example.org']) {
    const opening = serveAdmin(
      { host, port: 0 },
      { admin, trail, token: ADMIN_TOKEN, heard: fail, cluster: NO_OVERVIEW, clock, onBug: fail },
    );
    const refusal = await opening.catch((error: unknown) => error);
    assert.instance(refusal, RangeError, host);
    assert.match((refusal as RangeError).message, /127\.0\.0\.1, not/);
  }
});

listen('recognises loopback addresses', () => {
  for (const yes of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    assert.ok(isLoopbackAddress(yes), yes);
  }
  for (const no of ['128.0.0.1', '127.0.0.1.example', '127.evil', '::ffff:10.0.0.1', 'x']) {
    assert.not.ok(isLoopbackAddress(no), no);
  }
  assert.not.ok(isLoopbackHost(undefined));
});

listen('closes even if a client keeps a connection open', async () => {
  const port = await adminUnderTest();
  const { hostname, port: number } = new URL(port.address);
  const socket = connect(Number(number), hostname);
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined));
  await new Promise((resolve) => socket.on('connect', resolve));
  const head = `POST /accounts HTTP/1.1\r\nhost: localhost\r\nauthorization: ${SHOWN}\r\n`;
  socket.write(`${head}content-length: 10\r\n\r\n{`);
  await port.send('GET', '/accounts');
  await port[Symbol.asyncDispose]();
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(port.fixture.bugs, [], 'a client that hangs up is not a bug');
});

const clock = {
  wallMs: () => 0,
  monotonicMs: () => 0,
  after: () => ({ [Symbol.dispose]: () => {} }),
};

function fail(error: unknown): never {
  throw error;
}

lifecycle.run();
wrong.run();
web.run();
unproven.run();
listen.run();
