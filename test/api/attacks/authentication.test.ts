import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { admin, callerOf, newKey, send } from '#test/support/calls/caller';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { limitOf, openScene } from '#test/support/calls/scene';

const { service, caller, newCaller, close } = await openScene();
const { key, accountId } = caller;
const secretOf = (text: string) => text.slice(-38, -6);

/** Asserts that a request with these header lines is answered 401 without further details. */
async function assertUnauthorized(target: string, headers: readonly string[]): Promise<void> {
  const answer = await sendRaw(service, requestText('GET', target, headers));
  assert.is(answer.status, 401, `${target} ${headers.join()}`);
  assertRefusalShape(answer);
  assert.is(answer.body.error, 'unauthorized');
  assert.is(answer.headers.get('www-authenticate'), 'Bearer');
  assert.is(limitOf(answer, 'limit'), 0);
  assert.is(limitOf(answer, 'monthly'), 0);
  assert.not.match(answer.text, new RegExp(`${accountId}|${secretOf(key)}`));
}

const basic = Buffer.from(`${accountId}:${key}`).toString('base64');
const WRONG: Record<string, readonly string[]> = {
  'no Authorization': [],
  'an empty Authorization': ['Authorization:'],
  'the scheme only': ['Authorization: Bearer'],
  'no scheme': [`Authorization: ${key}`],
  'the scheme Basic': [`Authorization: Basic ${basic}`],
  'the scheme Token': [`Authorization: Token ${key}`],
  'the scheme ApiKey': [`Authorization: ApiKey ${key}`],
  'two spaces after the scheme': [`Authorization: Bearer  ${key}`],
  'a tab after the scheme': [`Authorization: Bearer\t${key}`],
  'the same header twice': [`Authorization: Bearer ${key}`, `authorization: Bearer ${key}`],
  'a second, wrong header': [`Authorization: Bearer ${key}`, 'Authorization: Basic x'],
  'two keys in one header': [`Authorization: Bearer ${key}, Bearer ${key}`],
  'quotes around the key': [`Authorization: Bearer "${key}"`],
  'a key of 4 KiB': [`Authorization: Bearer svc_sk_${'a'.repeat(4_096)}`],
  'a letter that only looks right': [`Authorization: Bearer ѕ${key.slice(1)}`],
  'a key in upper case': [`Authorization: Bearer ${key.toUpperCase()}`],
  'a changed digit': [`Authorization: Bearer ${key.slice(0, 30)}${flipped(key)}`],
  'a missing checksum': [`Authorization: Bearer ${key.slice(0, -6)}`],
  'a valid key and more text': [`Authorization: Bearer ${key} x`],
  'a well-formed key that was never created': [`Authorization: Bearer ${unknownKey()}`],
  'another secret of this account': [
    `Authorization: Bearer ${formatApiKey(accountId, 'A'.repeat(32))}`,
  ],
  'the key in X-API-Key': [`X-API-Key: ${key}`],
  'the key in a cookie': [`Cookie: api_key=${key}; Authorization=Bearer ${key}`],
  'the key for a proxy': [`Proxy-Authorization: Bearer ${key}`],
};

const wrong = suite('a request with wrong credentials');

for (const [name, headers] of Object.entries(WRONG)) {
  wrong(`such as ${name} is refused with 401`, () => assertUnauthorized('/v1/instances', headers));
}

wrong('in the query is refused with 401', () =>
  assertUnauthorized(`/v1/instances?api_key=${key}&access_token=${key}`, []),
);

wrong('in the body is refused with 401', async () => {
  const answer = await send(service, 'POST', '/instances', { json: { name: 'a', api_key: key } });
  assert.is(answer.status, 401);
});

wrong('is refused before anything else is checked', async () => {
  for (const path of ['/none', '/instances/x/process', '/personas?version=v9', '/instances']) {
    const answer = await send(service, 'POST', path, { body: '{broken' });
    assert.is(answer.status, 401, path);
  }
});

const right = suite('a valid key');

right('is accepted with the scheme in any letter case, and with extra spaces', async () => {
  for (const line of [`bearer ${key}`, `BEARER ${key}`, `  Bearer ${key} \t`]) {
    const answer = await sendRaw(
      service,
      requestText('GET', '/v1/instances', [`Authorization: ${line}`]),
    );
    assert.is(answer.status, 200, line);
  }
});

right('is refused with 401 once it is revoked, while other keys of its account work', async () => {
  const made = await admin(service, 'POST', `/accounts/${accountId}/keys`, { scope: 'full' });
  const second = callerOf(service, accountId, made.key);
  assert.is((await second.send('GET', '/instances')).status, 200);
  await admin(service, 'DELETE', `/accounts/${accountId}/keys/${made.id}`);
  await assertUnauthorized('/v1/instances', [`Authorization: Bearer ${second.key}`]);
  assert.is((await caller.send('GET', '/instances')).status, 200);
});

right('is refused with 401 once it has expired', async () => {
  const expired = { scope: 'full', expires_at: new Date(Date.now() + 300).toISOString() };
  const { key: text } = await admin(service, 'POST', `/accounts/${accountId}/keys`, expired);
  const expiring = callerOf(service, accountId, text);
  let answer = await expiring.send('GET', '/instances');
  while (answer.status === 200) answer = await expiring.send('GET', '/instances');
  assert.is(answer.status, 401);
  assert.ok(Date.now() >= Date.parse(expired.expires_at));
});

right('of a suspended account is refused with 403 until the account is active again', async () => {
  const other = await newCaller();
  const setStatus = (status: string) =>
    admin(service, 'PUT', `/accounts/${other.accountId}/status`, { status });
  await setStatus('suspended');
  const answer = await other.send('GET', '/instances');
  assert.is(answer.status, 403);
  assert.equal(answer.body.details, { reason: 'account_suspended' });
  await setStatus('active');
  assert.is((await other.send('GET', '/instances')).status, 200);
});

const reader = suite('a read-only key');

reader('is refused with 403 on every write and changes nothing', async () => {
  const owner = await newCaller();
  const id = await owner.createInstance();
  const readKey = await newKey(service, owner.accountId, 'read');
  const limited = callerOf(service, owner.accountId, readKey);
  const writes = [
    ['POST', '/instances', { name: 'x' }],
    ['PATCH', `/instances/${id}`, { name: 'x' }],
    ['POST', `/instances/${id}/process`, { mode_target: 'ORDER', signal_strength: 1 }],
    ['POST', `/instances/${id}/process/batch`, { observations: [] }],
    ['POST', `/instances/${id}/reset`, { mode: 'initial' }],
    ['DELETE', `/instances/${id}`, undefined],
  ] as const;
  for (const [method, path, json] of writes) {
    const answer = await limited.send(method, path, json === undefined ? {} : { json });
    assert.is(answer.status, 403, `${method} ${path}`);
    assert.equal(answer.body.details, { reason: 'read_only_key' });
  }
  const { data, pagination } = (await owner.send('GET', '/instances')).body;
  assert.equal([pagination.total, data[0].name, data[0].cycle_count], [1, 'Ada', 0]);
});

const guesser = suite('a caller that guesses keys');

guesser('is soon answered 503, and does not block callers whose key is known', async () => {
  const statuses = new Set<number>();
  // Send in parallel: sequential guesses could outlast the counting windows.
  for (let guesses = 0; guesses < 1_000 && !statuses.has(503); guesses += 50) {
    const headers = () => ({ authorization: `Bearer ${unknownKey()}` });
    const answers = Array.from({ length: 50 }, () =>
      send(service, 'GET', '/instances', { headers: headers() }),
    );
    for (const { status } of await Promise.all(answers)) statuses.add(status);
  }
  assert.equal(statuses, new Set([401, 503]));
  assert.is((await caller.send('GET', '/instances')).status, 200);
});

guesser('finds no default credentials', async () => {
  for (const guess of ['svc_sk_test', 'svc_sk_local', 'admin', 'test', 'changeme']) {
    await assertUnauthorized('/v1/instances', [`Authorization: Bearer ${guess}`]);
  }
});

guesser('finds no route of the admin port on the API port', async () => {
  for (const path of ['/accounts', '/admin/accounts', `/accounts/${accountId}/keys`]) {
    const answer = await caller.send('GET', path);
    assert.is(answer.status, 404, path);
  }
});

guesser.after(close);

for (const each of [wrong, right, reader, guesser]) each.run();

function flipped(text: string): string {
  return `${text[30] === 'A' ? 'B' : 'A'}${text.slice(31)}`;
}

function unknownKey(): string {
  const random = crypto.getRandomValues(new Uint8Array(44));
  const digits = Array.from(random, (byte) => (byte % 36).toString(36)).join('');
  return formatApiKey(digits.slice(0, 12), digits.slice(12));
}
