import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import { type Answer, admin, callerOf } from '#test/support/calls/caller';
import {
  assertRefused,
  documentedCaller,
  limitOf,
  observationAt,
  sharedScene,
} from '#test/support/calls/scene';

const { service, caller, newCaller } = await sharedScene();

/** Asserts that the body of an answer has the same figures as its headers. */
function assertAsHeaders(answer: Answer): void {
  const { plan, usage } = answer.body.data;
  assert.equal(usage.minute, {
    limit: limitOf(answer, 'limit'),
    remaining: limitOf(answer, 'remaining'),
    reset: limitOf(answer, 'reset'),
  });
  assert.is(usage.month.remaining, limitOf(answer, 'monthly'));
  assert.equal(
    [usage.minute.limit, usage.month.limit],
    [plan.requests_per_minute, plan.cycles_per_month],
  );
  const month = /"month";r=(\d+);t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '');
  assert.is(usage.month.remaining, Number(month?.[1]));
  const leftS = usage.month.reset - Date.now() / 1_000;
  assert.ok(Math.abs(leftS - Number(month?.[2])) < 5);
}

const reading = suite('getting the account');

reading('answers with the limits of the account’s plan', async () => {
  for (const [plan, perMinute, perMonth, instances] of [
    ['free', 10, 10_000, 1_000],
    ['indie', 60, 100_000, 10_000],
    ['pro', 300, 500_000, 100_000],
  ] as const) {
    const owner = await newCaller({ plan });
    const answer = await owner.send('GET', '/account');
    assert.is(answer.status, 200, answer.text);
    assert.equal(answer.body.data.plan, {
      name: plan,
      requests_per_minute: perMinute,
      cycles_per_month: perMonth,
      instances_max: instances,
    });
    assertAsHeaders(answer);
  }
});

reading('answers with the agreed limits of an enterprise account', async () => {
  const agreed = { requestsPerMinute: 77, cyclesPerMonth: 5_000_000_000, instances: 12 };
  const owner = await newCaller(agreed);
  assert.equal((await owner.send('GET', '/account')).body.data.plan, {
    name: 'enterprise',
    requests_per_minute: 77,
    cycles_per_month: 5_000_000_000,
    instances_max: 12,
  });
});

reading('costs one request and no cycle, and counts its own request', async () => {
  const owner = await newCaller({ requestsPerMinute: 100, cyclesPerMonth: 50 });
  const id = await owner.createInstance();
  await owner.process(id, observationAt(0));
  await owner.process(id, observationAt(1));
  for (const remaining of [96, 95]) {
    const answer = await owner.send('GET', '/account');
    assertAsHeaders(answer);
    const { minute, month } = answer.body.data.usage;
    assert.equal([minute.remaining, month.remaining], [remaining, 48]);
  }
});

reading('is answered when the cycles of the month are used up', async () => {
  const owner = await newCaller({ cyclesPerMonth: 1 });
  await owner.process(await owner.createInstance(), observationAt(0));
  assert.is((await owner.send('GET', '/account')).body.data.usage.month.remaining, 0);
});

reading('has no ETag, and accepts neither a query nor another method', async () => {
  const answer = await caller.send('GET', '/account');
  assert.is(answer.headers.get('etag'), null);
  const details = { field: 'plan', reason: 'unknown_parameter' };
  assertRefused(await caller.send('GET', '/account?plan=1'), 400, 'invalid_request', details);
  const posted = await caller.send('POST', '/account', { json: {} });
  assertRefused(posted, 404, 'not_found');
  assert.is(posted.headers.get('allow'), 'GET');
});

const key = suite('the key that the account endpoint shows');

/** Creates a key for an account. Returns its id, and a caller that uses it. */
async function newKeyOf(accountId: string, sent: Record<string, unknown>) {
  const made = await admin(service, 'POST', `/accounts/${accountId}/keys`, sent);
  const user = documentedCaller(callerOf(service, accountId, made.key));
  return { id: made.id, user };
}

key('is the key that authenticates the request, and no other key', async () => {
  const { accountId } = caller;
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  const full = await newKeyOf(accountId, { scope: 'full' });
  const read = await newKeyOf(accountId, { scope: 'read', expires_at: inAnHour });
  const stranger = await newCaller();
  const answers = [];
  for (const { id, user, scope, expires_at } of [
    { ...full, scope: 'full', expires_at: null },
    { ...read, scope: 'read', expires_at: inAnHour },
  ]) {
    const answer = await user.send('GET', '/account');
    assert.equal(answer.body.data.key, { id, scope, expires_at });
    answers.push(answer.text);
  }
  const [ofFull = '', ofRead = ''] = answers;
  const ofStranger = (await stranger.send('GET', '/account')).text;
  assert.not.ok([ofRead, ofStranger].some((text) => text.includes(full.id)));
  assert.not.ok([ofFull, ofStranger].some((text) => text.includes(read.id)));
});

key('appears without secret, digest and account name', async () => {
  const { text } = await caller.send('GET', '/account');
  const secret = caller.key.slice('svc_sk_'.length);
  for (const hidden of [secret, digestOf(caller.key), caller.accountId, '"test"']) {
    assert.not.ok(text.includes(hidden), hidden);
  }
});

key('is refused with 401 after it is revoked', async () => {
  const { id, user } = await newKeyOf(caller.accountId, { scope: 'full' });
  assert.is((await user.send('GET', '/account')).status, 200);
  await admin(service, 'DELETE', `/accounts/${caller.accountId}/keys/${id}`);
  const answer = await user.send('GET', '/account');
  assertRefused(answer, 401, 'unauthorized');
});

for (const each of [reading, key]) each.run();
