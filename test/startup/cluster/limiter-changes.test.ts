import * as assert from 'uvu/assert';
import { type Answer, admin, type Caller, callerOf, newCaller } from '#test/support/calls/caller';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

const LIMITERS = ['a', 'b'];

/** Maximum time until all processes apply a change, in milliseconds. Source: architecture 4. */
const CHANGE_MS = 1_000;

/** Accounts in use while a limiter leaves, more than one in most shards. */
const ACCOUNTS = 24;

/** Interval between calls in milliseconds: 50 calls per second, even without answers. */
const PERIOD_MS = 20;

/**
 * Maximum refusals among 250 calls on a busy machine. A quiet machine has no refusals, as the
 * rolling restart of the chaos run tests.
 */
const REFUSED_MAX = 100;

let cluster: OwnCluster;

const changes = suite('with two limiters under load');

changes.before(async () => {
  const variables = { SERVICE_LIMITER_TIMEOUT_MS: '100' };
  cluster = await startOwnCluster({ cassandra, nats }, ['engine'], {
    limiters: LIMITERS,
    variables,
  });
});
changes.after(async () => {
  await cluster[Symbol.asyncDispose]();
});

for (const name of LIMITERS) {
  changes(`a key revoked at limiter ${name} gets 401 within a second, permanently`, async () => {
    const someone = await newCaller(cluster.service());
    assert.is((await sureAnswer(someone)).status, 200);
    const keys = `/accounts/${someone.accountId}/keys`;
    const [key] = await admin(cluster.service(name), 'GET', keys);
    await admin(cluster.service(name), 'DELETE', `${keys}/${key.id}`);
    const answers = await watched(someone, ({ status }) => status === 401);
    console.log(`revoked at ${name}: 401 after ${Math.round(answers.tookMs)} ms`);
    assert.ok(answers.tookMs < CHANGE_MS, `after ${answers.tookMs} ms`);
    for (let sent = 0; sent < 5; sent += 1) assert.is((await sureAnswer(someone)).status, 401);
  });

  changes(
    `a key disabled at limiter ${name} gets 401 within a second, and 200 once enabled`,
    async () => {
      const someone = await newCaller(cluster.service());
      const keys = `/accounts/${someone.accountId}/keys`;
      const [key] = await admin(cluster.service(name), 'GET', keys);
      for (let times = 0; times < 2; times += 1) {
        await holds(someone, 200);
        await admin(cluster.service(name), 'POST', `${keys}/${key.id}/disable`);
        await holds(someone, 401);
        await admin(cluster.service(name), 'POST', `${keys}/${key.id}/enable`);
      }
      await holds(someone, 200);
    },
  );

  changes(
    `a key rotated at limiter ${name} gets 401 within a second, and the new key gets 200`,
    async () => {
      const someone = await newCaller(cluster.service());
      const keys = `/accounts/${someone.accountId}/keys`;
      const [key] = await admin(cluster.service(name), 'GET', keys);
      await holds(someone, 200);
      const rotate = (id: string, grace: string) =>
        admin(cluster.service(name), 'POST', `${keys}/${id}/rotate`, { grace });
      const second = await rotate(key.id, '0');
      await holds(someone, 401);
      const next = callerOf(cluster.service(), someone.accountId, second.key);
      await holds(next, 200);
      const third = await rotate(second.id, '1h');
      await holds(callerOf(cluster.service(), someone.accountId, third.key), 200);
      await pause(CHANGE_MS);
      await holds(next, 200);
    },
  );

  changes(
    `a larger plan set at limiter ${name} applies within a second despite cached refusals`,
    async () => {
      const someone = await newCaller(cluster.service(), { requestsPerMinute: 2 });
      while ((await sureAnswer(someone)).status !== 429);
      const refusedUnasked = () => cluster.metric(cluster.edge, 'edge_refused_unasked_total');
      const before = await refusedUnasked();
      // For a second after an account change, the edge caches nothing about the account.
      while ((await refusedUnasked()) === before)
        assert.is((await sureAnswer(someone)).status, 429);
      const limits = { requests_per_minute: 1_000, cycles_per_month: 1_000 };
      const plan = { plan: 'enterprise', limits };
      await admin(cluster.service(name), 'PUT', `/accounts/${someone.accountId}/plan`, plan);
      const answers = await watched(someone, ({ status }) => status === 200);
      console.log(`raised at ${name}: 200 after ${Math.round(answers.tookMs)} ms`);
      assert.ok(answers.tookMs < CHANGE_MS, `after ${answers.tookMs} ms`);
    },
  );
}

changes(
  'every limiter shows the last use of a key, with time and address, after some seconds',
  async () => {
    const someone = await newCaller(cluster.service());
    const keys = `/accounts/${someone.accountId}/keys`;
    const headers = { 'user-agent': 'agent/1.0' };
    const before = Math.floor(Date.now() / 60_000) * 60_000;
    assert.is((await someone.send('GET', '/personas', { headers })).status, 200);
    const deadlineMs = performance.now() + 10 * CHANGE_MS;
    for (const name of LIMITERS) {
      let used: { at: string; address: string; client: string } | undefined;
      while (used === undefined && performance.now() < deadlineMs) {
        await pause(50);
        [{ last_used: used }] = await admin(cluster.service(name), 'GET', keys);
      }
      assert.is(used?.client, 'agent/1.0');
      assert.match(used?.address ?? '', /^(127\.0\.0\.1|::1)$/);
      assert.ok(Date.parse(used?.at ?? '') >= before, used?.at);
    }
  },
);

changes('a limiter stopped by SIGTERM moves its accounts with exact counts', async () => {
  const make = async () => ({ caller: await newCaller(cluster.service()), served: 0, unsure: 0 });
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, make));
  const pending: Promise<number>[] = [];
  const timer = setInterval(() => {
    const account = accounts[pending.length % ACCOUNTS];
    if (account !== undefined) pending.push(counted(account));
  }, PERIOD_MS);
  await pause(1_000);
  const leaving = cluster.limiters.get('a');
  leaving?.child.kill('SIGTERM');
  assert.is(await leaving?.ended, 0, leaving?.stderr());
  await pause(1_000);
  clearInterval(timer);
  const waitsMs = (await Promise.all(pending)).toSorted((left, right) => left - right);
  const refused = accounts.reduce((sum, { unsure }) => sum + unsure, 0);
  console.log(
    `${refused} of ${waitsMs.length} refused; slowest ${Math.round(waitsMs.at(-1) ?? 0)} ms`,
  );
  assert.ok(refused <= REFUSED_MAX, `${refused} were refused`);
  for (const { caller, served, unsure } of accounts) {
    assert.is((await sureAnswer(caller)).status, 200);
    const usage = await admin(cluster.service('b'), 'GET', `/accounts/${caller.accountId}/usage`);
    const extra = usage.requests_in_window - served - 1;
    assert.ok(extra >= 0 && extra <= unsure, `${extra} more than the ${served} served`);
  }
});

changes.run();

type Counted = { readonly caller: Caller; served: number; unsure: number };

/** Makes one call and counts its outcome. Returns the duration in milliseconds. */
async function counted(account: Counted): Promise<number> {
  const startedMs = performance.now();
  const { status, text } = await account.caller.send('GET', '/personas');
  if (status === 200) account.served += 1;
  else {
    assert.is(status, 503, text);
    account.unsure += 1;
  }
  return performance.now() - startedMs;
}

/** Repeats a call until the answer is not 503: a busy limiter may exceed its 100 ms. */
async function sureAnswer(someone: Caller): Promise<Answer> {
  for (;;) {
    const answer = await someone.send('GET', '/personas');
    if (answer.status !== 503) return answer;
  }
}

/** Asserts that calls get this status within a second, and that the next calls get it as well. */
async function holds(someone: Caller, status: number): Promise<void> {
  const { tookMs } = await watched(someone, (answer) => answer.status === status);
  assert.ok(tookMs < CHANGE_MS, `${status} after ${tookMs} ms`);
  for (let sent = 0; sent < 3; sent += 1) assert.is((await sureAnswer(someone)).status, status);
}

/** Calls until an answer is as expected. Returns the duration in milliseconds. */
async function watched(someone: Caller, isExpected: (answer: Answer) => boolean) {
  const startedMs = performance.now();
  for (;;) {
    const answer = await someone.send('GET', '/personas');
    const tookMs = performance.now() - startedMs;
    if (isExpected(answer) || tookMs > 5 * CHANGE_MS) return { tookMs };
    await pause(10);
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
