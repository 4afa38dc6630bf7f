import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bought, keyless, LOCAL_BILLING, NOTIFICATIONS } from '#test/support/calls/billing-scene';
import { requestText, sendRaw } from '#test/support/calls/raw-http';
import { assertRefused, limitOf, openScene, type SceneCaller } from '#test/support/calls/scene';

const scene = await openScene(LOCAL_BILLING);
const { service, newCaller, close } = scene;
const stranger = keyless(scene);

/** Maximum delay until a plan takes effect, in milliseconds. Source: docs/billing.md. */
const EFFECTIVE_MS = 1_000;

async function planOf(caller: SceneCaller): Promise<string> {
  return (await caller.send('GET', '/account')).body.data.plan.name;
}

async function changesOf(caller: SceneCaller): Promise<ReturnType<typeof JSON.parse>[]> {
  return (await caller.send('GET', '/audit?action=plan.change')).body.data;
}

const taken = suite('a notification with a valid signature of the payment provider');

taken('changes the account’s plan within a second, without an API key', async () => {
  const caller = await newCaller({ plan: 'free' });
  assert.is(await planOf(caller), 'free');
  const { body, signature } = bought(caller.accountId);
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const answer = await stranger.notify(body, signature, { headers });
  assert.equal([answer.status, answer.body], [200, { received: true }]);
  const deadlineMs = performance.now() + EFFECTIVE_MS;
  while ((await planOf(caller)) !== 'pro')
    assert.ok(performance.now() < deadlineMs, 'the plan changes too late');
  assert.is(limitOf(await caller.send('GET', '/personas'), 'limit'), 300);
});

taken('adds two lines to the audit trail, and none when it is repeated', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  for (let times = 0; times < 3; times += 1) {
    assert.is((await stranger.notify(body, signature)).status, 200);
  }
  const lines = await changesOf(caller);
  assert.equal(
    lines.map(({ outcome }) => outcome),
    ['done', 'begun'],
  );
  assert.equal(lines[1].actor, { kind: 'provider', id: 'local' });
  assert.equal([lines[1].before, lines[0].after], [{ plan: 'free' }, { plan: 'pro' }]);
});

taken('is verified by its bytes, not by its parsed content', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  assertForged(await stranger.notify(JSON.stringify(JSON.parse(body), null, 1), signature));
  assert.is((await stranger.notify(body, signature)).status, 200);
  assert.is(await planOf(caller), 'pro');
});

const forged = suite('a notification without a valid signature of the payment provider');

function assertForged(answer: Parameters<typeof assertRefused>[0]): void {
  assertRefused(answer, 400, 'webhook_verification_failed');
}

forged('is refused, and changes nothing', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  const other = bought(caller.accountId, { plan: 'indie' });
  assertForged(await stranger.notify(body, undefined));
  assertForged(await stranger.notify(body, ''));
  assertForged(await stranger.notify(body, other.signature));
  assertForged(await stranger.notify(body, `t=1,${signature}`));
  assertForged(await stranger.notify(`${body} `, signature));
  assertForged(await stranger.send('POST', NOTIFICATIONS));
  assert.is(await planOf(caller), 'free');
  assert.equal(await changesOf(caller), []);
});

forged('is refused even with an API key, which is neither checked nor metered', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  const before = limitOf(await caller.send('GET', '/personas'), 'remaining');
  const headers = { authorization: `Bearer ${caller.key}` };
  const refused = await stranger.notify(body, undefined, { headers });
  assertForged(refused);
  assert.is(limitOf(refused, 'limit'), 0);
  const wrong = { headers: { authorization: 'Bearer svc_sk_wrong' } };
  assert.is((await stranger.notify(body, signature, wrong)).status, 200);
  assert.is(limitOf(await caller.send('GET', '/personas'), 'limit'), 300);
  assert.ok(before > 0);
});

forged('is not read beyond 256 KiB, nor with another content type', async () => {
  const large = await stranger.notify(`"${'x'.repeat(256 * 1_024)}"`, 't=1,v1=00');
  assertRefused(large, 413, 'invalid_request', { reason: 'body_too_large' });
  const headers = { 'content-type': 'text/plain' };
  const text = await stranger.notify('{}', 't=1,v1=00', { headers });
  const details = { reason: 'unsupported_media_type', field: 'Content-Type' };
  assertRefused(text, 415, 'invalid_request', details);
});

const exception = suite('the exception from authentication');

exception('applies only to POST', async () => {
  const caller = await newCaller();
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    assertRefused(await stranger.send(method, NOTIFICATIONS), 401, 'unauthorized');
    const answer = await caller.send(method, NOTIFICATIONS);
    assertRefused(answer, 404, 'not_found');
    assert.is(answer.headers.get('allow'), 'POST');
  }
});

exception('applies only to the exact path', async () => {
  for (const target of [
    '/v1/billing/notifications/',
    '/v1/billing/notifications/1',
    '/v1/billing/Notifications',
    '//v1/billing/notifications',
    '/v1/billing/x/../notifications',
    '/v1/billing/notifications;x=1',
    '/v1/billing/notifications%2f..%2f..%2faccount',
    '/v1/billing/checkout',
    '/v1/billing/portal',
    '/v1/instances',
  ]) {
    const headers = ['Content-Type: application/json', 'Stripe-Signature: t=1,v1=00'];
    const answer = await sendRaw(service, requestText('POST', target, headers, '{}'));
    assert.is(answer.status, 401, target);
  }
});

const flood = suite('a flood of forged notifications');

flood('is soon refused with 503, and delays a valid notification by 10 s at most', async () => {
  const caller = await newCaller({ plan: 'free' });
  const { body, signature } = bought(caller.accountId);
  const answers = [];
  for (let sent = 0; sent < 60; sent += 1) answers.push(await stranger.notify(body, 't=1,v1=00'));
  const barred = answers.filter(({ status }) => status === 503);
  assert.ok(barred.length > 0, 'no notification was refused unverified');
  assert.is(barred[0]?.body.details.reason, 'too_many_refused_notifications');
  assert.is(barred[0]?.headers.get('retry-after'), '1');
  assert.is((await caller.send('GET', '/personas')).status, 200);
  const deadlineMs = performance.now() + 10_000;
  while ((await stranger.notify(body, signature)).status !== 200) {
    assert.ok(performance.now() < deadlineMs, 'the provider stays barred');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.is(await planOf(caller), 'pro');
});

flood.after(close);

for (const each of [taken, forged, exception, flood]) each.run();
