import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, admin, callerOf, newKey, send } from '#test/support/calls/caller';
import { limitOf, observationAt, sharedScene } from '#test/support/calls/scene';

const { service, newCaller } = await sharedScene();
const FOUR = ['limit', 'remaining', 'reset', 'monthly'] as const;
const all = (answer: Answer) => FOUR.map((name) => limitOf(answer, name));
const nowS = () => Date.now() / 1_000;

/**
 * Creates a caller whose account has 1,000 requests a minute and 50 cycles a month. `first` is the
 * answer to the first request of the caller.
 */
async function newAccount() {
  const someone = await newCaller({
    requestsPerMinute: 1_000,
    cyclesPerMonth: 50,
  });
  return { someone, first: await someone.send('GET', '/personas') };
}

/** Asserts that a call used one request and `cycles` since the answer `previous`. */
function assertNext(answer: Answer, previous: Answer, cycles: number): void {
  const [limit, remaining, reset, monthly] = all(previous);
  assert.equal(all(answer), [limit, (remaining ?? 0) - 1, reset, (monthly ?? 0) - cycles]);
}

const first = suite('the first answer of a minute');

first('has the plan’s limit, one request fewer, and the end of the window', async () => {
  const someone = await newCaller({ plan: 'indie' });
  const answer = await someone.send('GET', '/personas');
  const [limit, remaining, reset = 0, monthly] = all(answer);
  assert.equal([limit, remaining, monthly], [60, 59, 100_000]);
  assert.ok(reset >= Math.floor(nowS()) + 59 && reset <= Math.ceil(nowS()) + 61);
});

first('has the limits of the account’s plan', async () => {
  for (const [plan, limit, monthly] of [
    ['free', 10, 10_000],
    ['indie', 60, 100_000],
    ['pro', 300, 500_000],
  ] as const) {
    const someone = await newCaller({ plan });
    const answer = await someone.send('GET', '/personas');
    assert.equal([limitOf(answer, 'limit'), limitOf(answer, 'monthly')], [limit, monthly], plan);
  }
});

first('has the same figures in the IETF headers', async () => {
  const { someone, first: answer } = await newAccount();
  const policy = '"minute";q=1000;w=60, "month";q=50;qu="cycles"';
  assert.is(answer.headers.get('ratelimit-policy'), policy);
  const next = await someone.send('GET', '/personas');
  const found = /^"minute";r=998;t=(\d+), "month";r=50;t=(\d+)$/.exec(
    next.headers.get('ratelimit') ?? '',
  );
  assert.ok(found, next.headers.get('ratelimit') ?? '');
  const [minuteS = 0, monthS = 0] = (found ?? []).slice(1).map(Number);
  assert.ok(Math.abs(limitOf(next, 'reset') - nowS() - minuteS) < 2);
  const now = new Date();
  const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) / 1_000;
  assert.ok(Math.abs(monthEnd - nowS() - monthS) < 2);
});

const counted = suite('an answer to a valid key');

counted('counts one request whatever its status, and only the used cycles', async () => {
  const { someone, first: start } = await newAccount();
  const made = await someone.send('POST', '/instances', { json: { name: 'x' } });
  assertNext(made, start, 0);
  const { id } = made.body.data;
  const at = `/instances/${id}`;
  const unknown = '/instances/inst_0123456789abcdef';
  const tag = made.headers.get('etag') ?? '';
  const stale = { 'if-match': '"snap_0000000000000000"' };
  const batch = { observations: [observationAt(10), observationAt(11)] };
  type Row = readonly [string, string, Parameters<typeof someone.send>[2], number, number];
  const rows: readonly Row[] = [
    ['GET', at, {}, 200, 0],
    ['GET', at, { headers: { 'if-none-match': tag } }, 304, 0],
    ['POST', `${at}/process`, { json: observationAt(0) }, 200, 1],
    ['POST', `${at}/process/batch`, { json: batch }, 200, 2],
    ['POST', `${at}/process`, { json: observationAt(11) }, 200, 0],
    ['POST', `${at}/process/batch`, { json: batch }, 200, 0],
    [
      'POST',
      `${at}/process`,
      { json: observationAt(11), headers: { prefer: 'handling=strict' } },
      429,
      0,
    ],
    ['POST', `${unknown}/process`, { json: observationAt(0) }, 404, 0],
    ['POST', `${unknown}/process/batch`, { json: batch }, 404, 0],
    ['GET', '/nowhere', {}, 404, 0],
    ['PUT', '/instances', {}, 404, 0],
    ['POST', '/personas', { json: {} }, 404, 0],
    ['PATCH', at, { json: { name: 'y' }, headers: stale }, 409, 0],
    ['POST', `${at}/process`, { body: 'x'.repeat(40_000) }, 413, 0],
    ['POST', `${at}/process`, { body: 'x', headers: { 'content-type': 'text/plain' } }, 415, 0],
    ['POST', `${at}/process`, { json: { mode_target: 'ORDER' } }, 422, 0],
    ['POST', `${at}/process/batch`, { json: { observations: [] } }, 422, 0],
    ['POST', `${at}/process`, { body: '{' }, 400, 0],
    ['GET', '/instances?limit=0', {}, 400, 0],
    ['POST', `${at}/reset`, { json: { mode: 'initial' } }, 200, 0],
    ['DELETE', at, { headers: { prefer: 'return=minimal' } }, 204, 0],
  ];
  let previous = made;
  for (const [method, path, sent, status, cycles] of rows) {
    const answer = await someone.send(method, path, sent);
    assert.is(answer.status, status, `${method} ${path} ${answer.text}`);
    assertNext(answer, previous, cycles);
    previous = answer;
  }
});

counted('is 404 with Allow for HEAD, and counts a request', async () => {
  const { someone, first: start } = await newAccount();
  const answer = await send(service, 'HEAD', '/instances', {
    headers: { authorization: `Bearer ${someone.key}` },
  });
  assert.is(answer.status, 404);
  assert.is(answer.headers.get('allow'), 'POST, GET');
  assert.is(answer.text, '');
  assertNext(answer, start, 0);
});

counted('is 403 for a write with a read-only key, and counts no cycle', async () => {
  const { someone, first: start } = await newAccount();
  const id = await someone.createInstance();
  const key = await newKey(service, someone.accountId, 'read');
  const reader = callerOf(service, someone.accountId, key);
  const before = await reader.send('GET', '/personas');
  const answer = await reader.send('POST', `/instances/${id}/process`, { json: observationAt(0) });
  assert.is(answer.status, 403);
  assertNext(answer, before, 0);
  assert.is(limitOf(answer, 'remaining'), limitOf(start, 'remaining') - 3);
});

counted('is 403 for a suspended account, and counts a request', async () => {
  const { someone, first: start } = await newAccount();
  const path = `/accounts/${someone.accountId}/status`;
  await admin(service, 'PUT', path, { status: 'suspended' });
  const answer = await someone.send('GET', '/personas');
  assert.is(answer.status, 403);
  assertNext(answer, start, 0);
});

counted('counts for the account, whichever of its keys is used', async () => {
  const { someone, first: start } = await newAccount();
  const key = await newKey(service, someone.accountId, 'full');
  assertNext(await callerOf(service, someone.accountId, key).send('GET', '/personas'), start, 0);
});

counted('that is replayed counts a request and no cycle', async () => {
  const { someone } = await newAccount();
  const id = await someone.createInstance();
  const sent = { json: observationAt(0), headers: { 'idempotency-key': 'limit-row' } };
  const made = await someone.send('POST', `/instances/${id}/process`, sent);
  const again = await someone.send('POST', `/instances/${id}/process`, sent);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  assertNext(again, made, 0);
});

counted('never shows the same remainder to two parallel calls', async () => {
  const { someone } = await newAccount();
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => someone.send('GET', '/personas')),
  );
  assert.is(new Set(answers.map((answer) => limitOf(answer, 'remaining'))).size, 40);
  assert.is(new Set(answers.map((answer) => limitOf(answer, 'reset'))).size, 1);
});

counted('shows a plan change immediately, and keeps the usage', async () => {
  const { someone } = await newAccount();
  const id = await someone.createInstance();
  await someone.process(id, observationAt(0));
  const path = `/accounts/${someone.accountId}/plan`;
  const limits = { requests_per_minute: 7, cycles_per_month: 1_000 };
  await admin(service, 'PUT', path, { plan: 'enterprise', limits });
  const small = await someone.send('GET', '/personas');
  assert.equal([limitOf(small, 'limit'), limitOf(small, 'remaining')], [7, 3]);
  assert.is(limitOf(small, 'monthly'), 999);
  await admin(service, 'PUT', path, { plan: 'free' });
  const free = await someone.send('GET', '/personas');
  assert.equal([limitOf(free, 'limit'), limitOf(free, 'remaining')], [10, 5]);
  assert.is(limitOf(free, 'monthly'), 9_999);
  const none = { requests_per_minute: 2, cycles_per_month: 1 };
  await admin(service, 'PUT', path, { plan: 'enterprise', limits: none });
  const refused = await someone.send('GET', '/personas');
  assert.is(refused.body.error, 'rate_limited');
  assert.equal([limitOf(refused, 'limit'), limitOf(refused, 'remaining')], [2, 0]);
  assert.is(limitOf(refused, 'monthly'), 0);
});

const limited = suite('429 rate_limited');

limited(
  'shows 0 requests, the end of the window, all unused cycles and the time to wait',
  async () => {
    const someone = await newCaller({ plan: 'free' });
    let answer = await someone.send('GET', '/personas');
    const reset = limitOf(answer, 'reset');
    for (let left = 8; left >= 0; left -= 1) {
      answer = await someone.send('GET', '/personas');
      assert.equal(all(answer), [10, left, reset, 10_000]);
    }
    for (let i = 0; i < 3; i += 1) {
      answer = await someone.send('GET', '/personas');
      assert.is(answer.body.error, 'rate_limited');
      assert.equal(all(answer), [10, 0, reset, 10_000]);
      const wait = Number(answer.headers.get('retry-after'));
      assert.is(wait, answer.body.retry_after);
      // `reset` is rounded up to a whole second after the end of the window.
      assert.ok(nowS() + wait >= reset - 1.05, 'the wait ends before the window does');
      assert.ok(wait <= 61);
    }
    const usage = await admin(service, 'GET', `/accounts/${someone.accountId}/usage`);
    assert.is(usage.requests_in_window, 10, 'rate_limited calls are not counted');
  },
);

limited('reserves no cycle', async () => {
  const someone = await newCaller({ requestsPerMinute: 2, cyclesPerMonth: 9 });
  const id = await someone.createInstance();
  await someone.process(id, observationAt(0));
  const answer = await someone.send('POST', `/instances/${id}/process`, { json: observationAt(9) });
  assert.is(answer.body.error, 'rate_limited');
  assert.is(limitOf(answer, 'monthly'), 8);
});

const quota = suite('429 quota_exceeded');

quota('counts the request and shows the remaining cycles', async () => {
  const { someone } = await newAccount();
  const id = await someone.createInstance();
  const observations = (count: number, from: number) =>
    Array.from({ length: count }, (_, index) => observationAt(from + index));
  const path = `/instances/${id}/process/batch`;
  const part = await someone.send('POST', path, { json: { observations: observations(45, 0) } });
  assert.is(limitOf(part, 'monthly'), 5);
  const whole = await someone.send('POST', path, { json: { observations: observations(6, 100) } });
  assert.is(whole.body.error, 'quota_exceeded');
  assertNext(whole, part, 0);
  const rest = await someone.send('POST', path, { json: { observations: observations(5, 100) } });
  assert.is(rest.status, 200);
  assertNext(rest, whole, 5);
  const none = await someone.send('POST', path, { json: { observations: observations(1, 200) } });
  assert.is(none.body.error, 'quota_exceeded');
  assertNext(none, rest, 0);
  assertNext(await someone.send('GET', `/instances/${id}`), none, 0);
});

for (const each of [first, counted, limited, quota]) each.run();
