import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { LIMITER_MOVING_MS_MAX } from '#routing/routing-bounds';
import { faultOf, limitersUnderTest, ownerAt, pass, passing } from '#test/routing/routing-fakes';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import type { AdmitCall, LimiterAnswer, LimiterCall, SettleCall } from '#wire/limiter-messages';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

type Limiters = ReturnType<typeof limitersUnderTest>;

const ADMIT: AdmitCall = {
  kind: 'admit',
  accountId: 'acct_0',
  keyDigest: 'digest',
  callId: 7,
  callTag: 0,
  scope: 'full',
  cycles: 3,
};

const SETTLE: SettleCall = {
  kind: 'settle',
  accountId: 'acct_0',
  callId: 7,
  callTag: 0,
  cyclesUsed: 1,
};

/** What a limiter may be asked for, and must never do twice. */
const CALLS: readonly LimiterCall[] = [ADMIT, SETTLE];

/** Says yes to everything, with numbers that tell who has answered. */
function granting(requestsRemaining: number) {
  return ({ kind }: LimiterCall): LimiterAnswer => ({
    verdict: kind === 'admit' ? 'admitted' : 'settled',
    allowance: {
      requestsPerMinute: 60,
      requestsRemaining,
      windowResetAtS: 1_800_000_000,
      cyclesPerMonth: 1_000,
      cyclesRemaining: 900,
      monthResetAtS: 1_800_000_000,
      instances: 1_000,
    },
  });
}

/** Asks, so that a throw is a rejection too, at whatever time the test looks at it. */
function ask({ routed }: Limiters, call: LimiterCall): Promise<LimiterAnswer> {
  const answer = (async () => routed.ask(call))();
  answer.catch(() => undefined);
  return answer;
}

/** Who has answered by now: the requests that its numbers leave. */
async function granterOf(call: Promise<LimiterAnswer>): Promise<number | undefined> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'value' in state) return state.value.allowance?.requestsRemaining;
  throw new Error('the call has not been answered');
}

const moved = suite('when an account has moved to another limiter');

moved('a call follows the refusal that names the new owner at once', async () => {
  for (const asked of CALLS) {
    const cluster = limitersUnderTest();
    const { owners, limiters, sent, retries } = cluster;
    owners.learn(0, ownerAt('a'));
    limiters.set('a', () => {
      throw passing('not_owner', { owner: ownerAt('b', 2) });
    });
    limiters.set('b', granting(2));
    assert.is(await granterOf(ask(cluster, asked)), 2);
    assert.equal(
      sent.map(({ address, atMs }) => [address, atMs]),
      [
        ['a', 0],
        ['b', 0],
      ],
    );
    assert.ok(sent.every(({ call }) => call === asked));
    assert.equal(retries, ['not_owner']);
    assert.equal(owners.ownerOf(0), ownerAt('b', 2));
  }
});

moved('what the old owner admitted is settled with the new one', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  limiters.set('a', granting(1));
  limiters.set('b', granting(2));
  assert.is(await granterOf(ask(cluster, ADMIT)), 1);
  owners.learn(0, ownerAt('b', 2));
  assert.is(await granterOf(ask(cluster, SETTLE)), 2);
  assert.equal(
    sent.map(({ address, call }) => [address, call.kind]),
    [
      ['a', 'admit'],
      ['b', 'settle'],
    ],
  );
});

moved('a call waits for the hand-over, and is answered within its time', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, clock, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  const closed = () => {
    throw passing('not_owner');
  };
  limiters.set('a', closed);
  limiters.set('b', closed);
  const call = ask(cluster, ADMIT);
  await pass(cluster, 30);
  owners.learn(0, ownerAt('b', 2));
  await turnOfEvents();
  assert.is(sent.at(-1)?.address, 'b', 'news of the shard end the pause');
  await pass(cluster, 30);
  assert.is(await stateOf(call), 'pending');
  limiters.set('b', granting(2));
  await pass(cluster, 20);
  assert.is(await granterOf(call), 2);
  assert.ok(clock.monotonicMs() < LIMITER_TIMEOUT_MS);
});

moved('its pauses are of 5 to 20 ms', async () => {
  for (const { random, expected } of [
    { random: 0, expected: [5, 10, 10, 10] },
    { random: 1, expected: [10, 20, 20, 20] },
  ]) {
    const cluster = limitersUnderTest({ random: () => random });
    const { owners, limiters, sent } = cluster;
    owners.learn(0, ownerAt('a'));
    limiters.set('a', () => {
      throw passing('limiter_unavailable');
    });
    const call = ask(cluster, ADMIT);
    await pass(cluster, LIMITER_TIMEOUT_MS, 1);
    assert.is((await faultOf(call)).reason, 'limiter_unavailable');
    const pauses = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
    assert.equal(pauses.slice(0, expected.length), expected);
  }
});

const lost = suite('when a try may have happened');

lost('it is not made again, and leaves as it came', async () => {
  for (const reason of ['limiter_unavailable', 'shutting_down', 'not_owner'] as const) {
    for (const asked of CALLS) {
      const cluster = limitersUnderTest();
      cluster.owners.learn(0, ownerAt('a'));
      const refusal = passing(reason, { isOutcomeUnknown: true });
      cluster.limiters.set('a', async () => {
        throw refusal;
      });
      const call = ask(cluster, asked);
      assert.is(await faultOf(call), refusal);
      await pass(cluster, LIMITER_TIMEOUT_MS);
      assert.is(cluster.sent.length, 1);
      assert.equal(cluster.retries, []);
    }
  }
});

lost('it is not made again after one that certainly had not', async () => {
  for (const asked of CALLS) {
    const cluster = limitersUnderTest();
    const { owners, limiters, sent } = cluster;
    owners.learn(0, ownerAt('a'));
    limiters.set('a', () => {
      throw passing('not_owner', { owner: ownerAt('b', 2) });
    });
    limiters.set('b', () => {
      throw passing('limiter_unavailable', { isOutcomeUnknown: true });
    });
    const call = ask(cluster, asked);
    const { code, reason, isOutcomeUnknown } = await faultOf(call);
    assert.equal(
      [code, reason, isOutcomeUnknown],
      ['service_unavailable', 'limiter_unavailable', true],
    );
    await pass(cluster, LIMITER_TIMEOUT_MS);
    assert.is(sent.length, 2);
  }
});

const refused = suite('what a limiter refuses for good');

refused('comes back as it is, and is not tried again', async () => {
  const cluster = limitersUnderTest();
  cluster.owners.learn(0, ownerAt('a'));
  const refusals = [
    new Fault('service_unavailable', 'full', { reason: 'overloaded' }),
    new Fault('service_unavailable', 'the store is away'),
    new Fault('internal', 'internal error', { isOutcomeUnknown: true }),
  ];
  for (const refusal of refusals) {
    cluster.limiters.set('a', () => {
      throw refusal;
    });
    assert.is(await refusalOf(() => ask(cluster, ADMIT)), refusal);
  }
  assert.is(cluster.sent.length, refusals.length);
});

const late = suite('when nobody answers in time');

/** What its caller reads of a fault. */
function tellingOf({ code, reason, retryAfterS, isOutcomeUnknown }: Fault) {
  return { code, reason, retryAfterS, isOutcomeUnknown };
}

const GIVEN_UP = {
  code: 'service_unavailable',
  reason: 'limiter_unavailable',
  retryAfterS: 1,
  isOutcomeUnknown: false,
};

late('a call without an owner ends after 100 ms, as not done', async () => {
  const cluster = limitersUnderTest();
  const call = ask(cluster, ADMIT);
  await pass(cluster, 99, 1);
  assert.is(await stateOf(call), 'pending');
  await pass(cluster, 1, 1);
  assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
  assert.equal([...new Set(cluster.retries)], ['no_owner']);
});

late(
  'one whose owner gives its shard up for ever, or never stops ending, has a second',
  async () => {
    for (const reason of ['not_owner', 'shutting_down'] as const) {
      const cluster = limitersUnderTest();
      cluster.owners.learn(0, ownerAt('a'));
      cluster.limiters.set('a', () => {
        throw passing(reason);
      });
      const call = ask(cluster, ADMIT);
      await pass(cluster, LIMITER_MOVING_MS_MAX - 1, 1);
      assert.is(await stateOf(call), 'pending', `a living limiter has said ${reason}`);
      await pass(cluster, 1, 1);
      assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
      assert.ok(cluster.sent.every(({ atMs }) => atMs < LIMITER_MOVING_MS_MAX));
    }
  },
);

late('the wall clock does not matter', async () => {
  const cluster = limitersUnderTest();
  const call = ask(cluster, ADMIT);
  cluster.clock.stepWall(3_600_000);
  await pass(cluster, 95);
  assert.is(await stateOf(call), 'pending');
  cluster.clock.stepWall(-7_200_000);
  await pass(cluster, 5);
  assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
});

late('the time may be another', async () => {
  const cluster = limitersUnderTest({ timeoutMs: 300 });
  const call = ask(cluster, ADMIT);
  await pass(cluster, 295);
  assert.is(await stateOf(call), 'pending');
  await pass(cluster, 5);
  assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
});

late('every further try has the time that is left', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, clock, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  // The first refusal comes after 60 ms: they count as much as those of a pause.
  limiters.set('a', async () => {
    await new Promise<void>((resolve) => void clock.after(60, resolve));
    throw passing('not_owner', { owner: ownerAt('b', 2) });
  });
  limiters.set('b', () => {
    throw passing('not_owner');
  });
  const call = ask(cluster, ADMIT);
  await pass(cluster, LIMITER_MOVING_MS_MAX);
  assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
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

unreachable('the accounts of the other do not wait for it', async () => {
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
  await pass(cluster, LIMITER_TIMEOUT_MS);
  for (const call of waiting) assert.equal(tellingOf(await faultOf(call)), GIVEN_UP);
});

unreachable('its own calls go out as soon as it can', async () => {
  const cluster = limitersUnderTest({}, false);
  const { owners, limiters, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  limiters.set('a', granting(1));
  const call = ask(cluster, ADMIT);
  await pass(cluster, 40);
  assert.equal(sent, []);
  peers.get('a')?.open();
  assert.is(await granterOf(call), 1);
});

for (const group of [moved, lost, refused, late, unreachable]) group.run();
