import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatApiKey } from '#accounts/api-key';
import { assertRefusalShape } from '#test/support/calls/api-document';
import { type Answer, admin, callerOf, newKey, type Sent, send } from '#test/support/calls/caller';
import { assertRefused, observationAt, openScene } from '#test/support/calls/scene';

const { service, caller, newCaller, close } = await openScene();
const unknownKey = formatApiKey('000000000000', 'a'.repeat(32));
const header = (answer: Answer, name: string) => answer.headers.get(name);

const unauthorized = suite('401 unauthorized');

const CREDENTIALS: Record<string, Record<string, string>> = {
  'a missing key': {},
  'the Basic scheme': { authorization: `Basic ${btoa(`key:${caller.key}`)}` },
  'the Token scheme': { authorization: `Token ${caller.key}` },
  'the ApiKey scheme': { authorization: `ApiKey ${caller.key}` },
  'a key without scheme': { authorization: caller.key },
  'a key in X-API-Key': { 'x-api-key': caller.key },
  'a malformed key': { authorization: 'Bearer svc_sk_nonsense' },
  'a mistyped key': {
    authorization: `Bearer ${caller.key.slice(0, -1)}${caller.key.endsWith('0') ? '1' : '0'}`,
  },
  'a key that does not exist': { authorization: `Bearer ${unknownKey}` },
};

for (const [what, headers] of Object.entries(CREDENTIALS)) {
  unauthorized(`is the answer to ${what}, with WWW-Authenticate`, async () => {
    const answer = await send(service, 'GET', '/personas', { headers });
    assertRefusalShape(answer);
    assertRefused(answer, 401, 'unauthorized');
    assert.is(header(answer, 'www-authenticate'), 'Bearer');
    assert.is(answer.body.retry_after, undefined);
  });
}

unauthorized('is the answer to a revoked key', async () => {
  const { accountId } = caller;
  const key = await newKey(service, accountId, 'full');
  const keys = await admin(service, 'GET', `/accounts/${accountId}/keys`);
  const other = callerOf(service, accountId, key);
  assert.is((await other.send('GET', '/personas')).status, 200);
  await admin(service, 'DELETE', `/accounts/${accountId}/keys/${keys.at(-1).id}`);
  assertRefused(await other.send('GET', '/personas'), 401, 'unauthorized');
});

unauthorized('comes before every other error', async () => {
  for (const [method, path] of [
    ['GET', '/no-such-path'],
    ['GET', '/instances?limit=x'],
    ['PUT', '/instances'],
    ['GET', ''],
  ] as const) {
    assertRefused(await send(service, method, path), 401, 'unauthorized');
  }
  const broken = await send(service, 'POST', '/instances', { body: '{' });
  assertRefused(broken, 401, 'unauthorized');
});

unauthorized('is not the answer to the scheme Bearer in another letter case', async () => {
  for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
    const headers = { authorization: `${scheme} ${caller.key}` };
    assert.is((await send(service, 'GET', '/personas', { headers })).status, 200);
  }
});

const forbidden = suite('403 forbidden');

forbidden('is the answer to every write with a read-only key, and reads are 200', async () => {
  const id = await caller.createInstance();
  const key = await newKey(service, caller.accountId, 'read');
  const reader = callerOf(service, caller.accountId, key);
  const writes: readonly [string, string, unknown?][] = [
    ['POST', '/instances', { name: 'x' }],
    ['PATCH', `/instances/${id}`, { name: 'x' }],
    ['DELETE', `/instances/${id}`],
    ['POST', `/instances/${id}/process`, observationAt(0)],
    ['POST', `/instances/${id}/process/batch`, { observations: [observationAt(0)] }],
    ['POST', `/instances/${id}/reset`, { mode: 'initial' }],
  ];
  for (const [method, path, json] of writes) {
    const answer = await reader.send(method, path, json === undefined ? {} : { json });
    assertRefusalShape(answer);
    assertRefused(answer, 403, 'forbidden', { reason: 'read_only_key' });
  }
  const own = ['', '/snapshot', '/contract', '/history', '/drift'];
  const reads = own.map((path) => `/instances/${id}${path}`);
  const others = ['/instances', '/personas', '/personas/persona_leader', '/test/questions'];
  for (const path of [...reads, ...others]) {
    assert.is((await reader.send('GET', path)).status, 200, path);
  }
  const scored = await reader.send('POST', '/test/submit', { json: { answers: [] } });
  assert.is(scored.status, 422, 'test/submit must need only the scope read');
  assert.is((await caller.send('GET', `/instances/${id}`)).body.data.cycle_count, 0);
});

forbidden(
  'is the answer to every call of a suspended account, until it is active again',
  async () => {
    const someone = await newCaller();
    const status = `/accounts/${someone.accountId}/status`;
    await admin(service, 'PUT', status, { status: 'suspended' });
    for (const path of ['/personas', '/instances', '/instances/inst_0123456789abcdef']) {
      const answer = await someone.send('GET', path);
      assertRefused(answer, 403, 'forbidden', { reason: 'account_suspended' });
    }
    await admin(service, 'PUT', status, { status: 'active' });
    assert.is((await someone.send('GET', '/instances')).status, 200);
  },
);

forbidden('is the answer to a key bound to networks, from every other address', async () => {
  const keys = `/accounts/${caller.accountId}/keys`;
  const made = (networks: string[]) =>
    admin(service, 'POST', keys, { scope: 'full', networks, name: 'bound' });
  const elsewhere = callerOf(service, caller.accountId, (await made(['192.0.2.0/24'])).key);
  for (const path of ['/personas', '/instances', '/nothing']) {
    const answer = await elsewhere.send('GET', path);
    assertRefusalShape(answer);
    assertRefused(answer, 403, 'forbidden', { reason: 'address_not_allowed' });
  }
  const here = callerOf(service, caller.accountId, (await made(['127.0.0.0/8', '::1'])).key);
  const answer = await here.send('GET', '/account');
  assert.is(answer.status, 200);
  assert.is(answer.body.data.key.scope, 'full');
});

const absent = suite('404 not_found');

absent('is the answer to a path that does not exist', async () => {
  for (const path of ['', '/', '/nothing', '/instances/', '/Instances', '/instances/x/y', '/v1']) {
    const answer = await caller.send('GET', path);
    assertRefused(answer, 404, 'not_found');
    assert.is(header(answer, 'allow'), null, path);
  }
});

absent('is the answer to a method that a path does not have, with Allow', async () => {
  const allowed: readonly [method: string, path: string, allow: string][] = [
    ['PUT', '/instances', 'POST, GET'],
    ['DELETE', '/instances', 'POST, GET'],
    ['PUT', '/instances/inst_0123456789abcdef', 'GET, PATCH, DELETE'],
    ['GET', '/instances/inst_0123456789abcdef/process', 'POST'],
    ['POST', '/instances/inst_0123456789abcdef/history', 'GET'],
    ['POST', '/personas', 'GET'],
    ['OPTIONS', '/test/submit', 'POST'],
    ['GET', '/test/submit', 'POST'],
  ];
  for (const [method, path, allow] of allowed) {
    const answer = await caller.send(method, path);
    assertRefused(answer, 404, 'not_found');
    assert.is(header(answer, 'allow'), allow, `${method} ${path}`);
  }
});

const invalid = suite('invalid_request');

const BROKEN: readonly [what: string, sent: Sent, status: number, details: object][] = [
  ['malformed JSON', { body: '{"name":' }, 400, { reason: 'malformed_json' }],
  [
    'an empty body',
    { headers: { 'content-type': 'application/json' } },
    400,
    { reason: 'malformed_json' },
  ],
  ['NaN', { body: '{"name": NaN}' }, 400, { reason: 'malformed_json' }],
  ['a duplicate key', { body: '{"name":"a","name":"b"}' }, 400, { reason: 'duplicate_key' }],
  [
    'another media type',
    { body: 'name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    { field: 'Content-Type', reason: 'unsupported_media_type' },
  ],
  [
    'another charset',
    { body: '{"name":"x"}', headers: { 'content-type': 'application/json; charset=utf-16' } },
    415,
    { field: 'Content-Type', reason: 'unsupported_media_type' },
  ],
  [
    'a body of more than 32 KiB',
    { body: `"${'x'.repeat(32 * 1_024)}"` },
    413,
    { reason: 'body_too_large' },
  ],
];

for (const [what, sent, status, details] of BROKEN) {
  invalid(`with status ${status} is the answer to ${what}`, async () => {
    const answer = await caller.send('POST', '/instances', sent);
    assertRefused(answer, status, 'invalid_request', { ...details });
  });
}

invalid('with status 422 is the answer to a field that breaks a rule', async () => {
  const id = await caller.createInstance();
  const path = `/instances/${id}/process`;
  for (const [json, field, reason] of [
    [{ mode_target: 'JOY', signal_strength: 0.5 }, 'mode_target', 'unknown_value'],
    [{ mode_target: 'ORDER', signal_strength: 1.5 }, 'signal_strength', 'out_of_range'],
  ] as const) {
    const answer = await caller.send('POST', path, { json });
    assertRefused(answer, 422, 'invalid_request', { field, reason });
  }
});

invalid('comes before the look-up of the instance', async () => {
  const path = '/instances/inst_0123456789abcdef/process';
  assert.is((await caller.send('POST', path, { json: {} })).status, 422);
});

const conflict = suite('409 conflict');

conflict('is the answer to a stale If-Match', async () => {
  const id = await caller.createInstance();
  const headers = { 'if-match': '"snap_0000000000000000"' };
  const answer = await caller.send('DELETE', `/instances/${id}`, { headers });
  assertRefused(answer, 409, 'conflict', { field: 'If-Match', reason: 'version_mismatch' });
});

conflict('is the answer to a repeated keyed create whose instance was deleted', async () => {
  const sent = { json: { name: 'x' }, headers: { 'idempotency-key': 'conflict-row' } };
  const made = await caller.send('POST', '/instances', sent);
  await caller.send('DELETE', `/instances/${made.body.data.id}`);
  const again = await caller.send('POST', '/instances', sent);
  assertRefused(again, 409, 'conflict', { reason: 'deleted' });
});

const tooMany = suite('429');

tooMany('throttled is the answer to an early observation under strict handling', async () => {
  const id = await caller.createInstance();
  await caller.process(id, observationAt(0));
  const answer = await caller.send('POST', `/instances/${id}/process`, {
    json: observationAt(0),
    headers: { prefer: 'handling=strict' },
  });
  assertRefused(answer, 429, 'throttled', { reason: 'min_cycle_interval' });
  assert.is(answer.body.retry_after, 1);
  assert.is(header(answer, 'retry-after'), '1');
});

tooMany(
  'rate_limited is the answer beyond the requests per minute, with an alias and Retry-After',
  async () => {
    const someone = await newCaller({ requestsPerMinute: 3 });
    for (let i = 0; i < 3; i += 1) assert.is((await someone.send('GET', '/personas')).status, 200);
    const answer = await someone.send('GET', '/personas');
    assertRefused(answer, 429, 'rate_limited', { alias: 'rate_limit_exceeded' });
    assert.ok(answer.body.retry_after >= 1 && answer.body.retry_after <= 61);
    assert.is(header(answer, 'retry-after'), String(answer.body.retry_after));
  },
);

tooMany('rate_limited comes before every other error', async () => {
  const someone = await newCaller({ requestsPerMinute: 1 });
  await someone.send('GET', '/personas');
  for (const [method, path] of [
    ['GET', '/nowhere'],
    ['GET', '/instances?limit=x'],
    ['GET', '/instances/inst_0123456789abcdef'],
  ] as const) {
    assert.is((await someone.send(method, path)).body.error, 'rate_limited');
  }
});

tooMany(
  'quota_exceeded is the answer beyond the cycles per month, with the wait until next month',
  async () => {
    const poor = await newCaller({ cyclesPerMonth: 1 });
    const id = await poor.createInstance();
    await poor.process(id, observationAt(0));
    const answer = await poor.send('POST', `/instances/${id}/process`, { json: observationAt(5) });
    assertRefused(answer, 429, 'quota_exceeded');
    const now = new Date();
    const monthEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    const seconds = (monthEndMs - now.getTime()) / 1_000;
    assert.ok(Math.abs(answer.body.retry_after - seconds) < 3);
    assert.is(header(answer, 'retry-after'), String(answer.body.retry_after));
    assert.is((await poor.send('GET', `/instances/${id}`)).status, 200, 'reads must cost no cycle');
  },
);

tooMany.after(close);

for (const each of [unauthorized, forbidden, absent, invalid, conflict, tooMany]) each.run();
