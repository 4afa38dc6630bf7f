import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { LimiterAnswer } from '#grpc/limiter-messages';
import { LIMITER_MOVING_MS_MAX } from '#routing/retry-policy';
import { ADMIT, ask, granterOf, granting } from '#test/routing/limiter-calls';
import { limitersUnderTest, ownerAt, passing } from '#test/routing/routing-fakes';
import { faultOf, stateOf, turnOfEvents } from '#test/support/settled';

const late = suite('when no limiter answers in time');

/** Fields of a fault that decide whether a call is retried. */
function readingOf({ code, reason, retryAfterS, isOutcomeUnknown }: Fault) {
  return { code, reason, retryAfterS, isOutcomeUnknown };
}

const GIVEN_UP = {
  code: 'service_unavailable',
  reason: 'limiter_unavailable',
  retryAfterS: 1,
  isOutcomeUnknown: false,
};

late('a call without an owner ends after 100 ms, as not executed', async () => {
  const cluster = limitersUnderTest();
  const call = ask(cluster, ADMIT);
  await cluster.pass(99, 1);
  assert.is(await stateOf(call), 'pending');
  await cluster.pass(1, 1);
  assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
  assert.equal([...new Set(cluster.retries)], ['no_owner']);
});

late('a call whose owner keeps moving its shard or shutting down ends after a second', async () => {
  for (const reason of ['not_owner', 'shutting_down'] as const) {
    const cluster = limitersUnderTest();
    cluster.owners.learn(0, ownerAt('a'));
    cluster.limiters.set('a', () => {
      throw passing(reason);
    });
    const call = ask(cluster, ADMIT);
    await cluster.pass(LIMITER_MOVING_MS_MAX - 1, 1);
    assert.is(await stateOf(call), 'pending', `a reachable limiter has answered ${reason}`);
    await cluster.pass(1, 1);
    assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
    assert.ok(cluster.sent.every(({ atMs }) => atMs < LIMITER_MOVING_MS_MAX));
  }
});

late('a call whose shard moves may take three times the configured time-out', async () => {
  const cluster = limitersUnderTest({ timeoutMs: 1_000 });
  cluster.owners.learn(0, ownerAt('a'));
  cluster.limiters.set('a', () => {
    throw passing('not_owner');
  });
  const call = ask(cluster, ADMIT);
  await cluster.pass(2_999, 1);
  assert.is(await stateOf(call), 'pending');
  await cluster.pass(1, 1);
  assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
});

late('a step of the wall clock does not change the time-out', async () => {
  const cluster = limitersUnderTest();
  const call = ask(cluster, ADMIT);
  cluster.clock.stepWall(3_600_000);
  await cluster.pass(95);
  assert.is(await stateOf(call), 'pending');
  cluster.clock.stepWall(-7_200_000);
  await cluster.pass(5);
  assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
});

late('the time-out is configurable', async () => {
  const cluster = limitersUnderTest({ timeoutMs: 300 });
  const call = ask(cluster, ADMIT);
  await cluster.pass(295);
  assert.is(await stateOf(call), 'pending');
  await cluster.pass(5);
  assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
});

late('every further attempt gets the remaining time as its time-out', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, clock, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  // The first refusal arrives after 60 ms, which count like a pause.
  limiters.set('a', async () => {
    await new Promise<void>((resolve) => void clock.after(60, resolve));
    throw passing('not_owner', { owner: ownerAt('b', 2) });
  });
  limiters.set('b', () => {
    throw passing('not_owner');
  });
  const call = ask(cluster, ADMIT);
  await cluster.pass(LIMITER_MOVING_MS_MAX);
  assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
  assert.equal(
    sent.slice(0, 4).map(({ atMs, timeoutMs }) => [atMs, timeoutMs]),
    [
      [0, undefined],
      [60, LIMITER_MOVING_MS_MAX - 60],
      [70, LIMITER_MOVING_MS_MAX - 70],
      [90, LIMITER_MOVING_MS_MAX - 90],
    ],
  );
});

const unreachable = suite('when one of two limiters cannot be reached');

unreachable('calls for accounts of the other limiter do not wait', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, peers, routed } = cluster;
  owners.learn(0, ownerAt('a'));
  owners.learn(1, ownerAt('b'));
  limiters.set('a', granting(1));
  limiters.set('b', granting(2));
  assert.is(await granterOf(ask(cluster, ADMIT)), 1);
  peers.get('a')?.lose();
  const waiting = Array.from({ length: 1_000 }, () => ask(cluster, ADMIT));
  await turnOfEvents();
  assert.is(routed.totals.waitingCalls, waiting.length);
  const answer = routed.ask({ ...ADMIT, accountId: 'acct_1' });
  assert.not.instance(answer, Promise);
  assert.is((answer as LimiterAnswer).allowance?.requestsRemaining, 2);
  await cluster.pass(LIMITER_TIMEOUT_MS);
  for (const call of waiting) assert.equal(readingOf(await faultOf(call)), GIVEN_UP);
});

unreachable('calls to that limiter are sent as soon as it is reachable', async () => {
  const cluster = limitersUnderTest({}, false);
  const { owners, limiters, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  limiters.set('a', granting(1));
  const call = ask(cluster, ADMIT);
  await cluster.pass(40);
  assert.equal(sent, []);
  peers.get('a')?.open();
  assert.is(await granterOf(call), 1);
});

for (const group of [late, unreachable]) group.run();
