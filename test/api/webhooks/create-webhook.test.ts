import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhook, URL } from '#test/api/webhooks/one-webhook';
import { assertRefused, sharedScene } from '#test/support/calls/scene';
import { ENDPOINTS_MAX } from '#webhooks/endpoint';

const { newCaller } = await sharedScene();

const creating = suite('creating a webhook endpoint');

creating('answers with defaults, a location and a secret of 32 bytes', async () => {
  const caller = await newCaller();
  const answer = await caller.send('POST', '/webhooks', { json: { url: URL } });
  assert.is(answer.status, 201, answer.text);
  const { id, secret, created_at: createdAt, ...rest } = answer.body.data;
  assert.is(answer.headers.get('location'), `/v1/webhooks/${id}`);
  assert.is(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32);
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.equal(rest, {
    url: URL,
    description: '',
    event_types: rest.event_types,
    max_batch: 1,
    ...{ paused: null, failing_since: null, old_secret_until: null },
    ...{ changes_behind: 0, changes_failed: 0 },
  });
  assert.ok(rest.event_types.includes('created'));
  assert.not.ok(rest.event_types.includes('contract_changed'));
  assert.not.ok(rest.event_types.includes('mode_changed'));
});

creating('stores all given fields', async () => {
  const caller = await newCaller();
  const fields = { description: 'ours', event_types: ['contract_changed'], max_batch: 100 };
  const { id, secret: _, ...made } = await createWebhook(caller, fields);
  const { body } = await caller.send('GET', `/webhooks/${id}`);
  assert.equal(body.data, { id, ...made });
  assert.equal({ ...made, ...fields }, made);
});

// Fleet test 30: spellings of addresses that are not on the internet.
const REFUSED = [
  ...['http://hooks.invalid/', 'ftp://hooks.invalid/', 'https://user:pw@hooks.invalid/'],
  ...['https://hooks.invalid:22/', 'https://hooks.invalid/#a', 'https://localhost/'],
  ...['https://127.0.0.1/', 'https://127.1/', 'https://0x7f000001/', 'https://2130706433/'],
  ...['https://[::1]/', 'https://[::ffff:169.254.169.254]/', 'https://10.0.0.1/', 'hooks'],
  ...['https://[0:0:0:0:0:ffff:7f00:1]/', 'https://[64:ff9b::7f00:1]/', 'https://localhost./'],
  ...['https://[2002:7f00:1::]/', 'https://[fe80::1]/', 'https://169.254.169.254/latest'],
];
creating('refuses addresses that are not on the internet', async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  for (const url of REFUSED) {
    const answer = await caller.send('POST', '/webhooks', { json: { url } });
    const details = { field: 'url', reason: 'endpoint_refused' };
    assertRefused(answer, 422, 'invalid_request', details);
  }
  assert.equal((await caller.send('GET', '/webhooks')).body.data, []);
});

creating('refuses fields out of bounds', async () => {
  const caller = await newCaller();
  for (const [fields, reason] of [
    [{ url: undefined }, 'missing_field'],
    [{ url: `https://hooks.invalid/${'a'.repeat(2_048)}` }, 'too_long'],
    [{ description: 'x'.repeat(201) }, 'too_long'],
    [{ event_types: [] }, 'too_short'],
    [{ event_types: ['lost'] }, 'unknown_value'],
    [{ max_batch: 101 }, 'out_of_range'],
    [{ secret: 'mine' }, 'unknown_field'],
  ] as const) {
    const answer = await caller.send('POST', '/webhooks', { json: { url: URL, ...fields } });
    assert.equal([answer.status, answer.body.details.reason], [422, reason], answer.text);
  }
});

creating(`allows ${ENDPOINTS_MAX} endpoints in an account`, async () => {
  const caller = await newCaller({ requestsPerMinute: 1_000 });
  for (let count = 0; count < ENDPOINTS_MAX; count += 1) await createWebhook(caller);
  const answer = await caller.send('POST', '/webhooks', { json: { url: URL } });
  assertRefused(answer, 403, 'forbidden', { reason: 'webhook_limit' });
});

creating('is a line of the audit trail', async () => {
  const caller = await newCaller({ scope: 'full audit' });
  const { id } = await createWebhook(caller);
  const { body } = await caller.send('GET', `/audit?action=webhook&target=${id}`);
  const actions = body.data.map(({ action, outcome }: Record<string, string>) => [action, outcome]);
  assert.equal(actions, [['webhook.create', 'begun']]);
});

creating.run();
