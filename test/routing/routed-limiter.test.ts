import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import { ADMIT, ask, CALLS, granterOf, granting, SETTLE } from '#test/routing/limiter-calls';
import { limitersUnderTest, ownerAt, passing } from '#test/routing/routing-fakes';
import { faultOf, refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const moved = suite('when an account has moved to another limiter');

moved('a call goes at once to the new owner that a refusal names', async () => {
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

moved('a grant of the old owner is settled at the new owner', async () => {
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

moved('a call is retried during the handoff and answered before its timeout', async () => {
  const cluster = limitersUnderTest();
  const { owners, limiters, clock, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  const closed = () => {
    throw passing('not_owner');
  };
  limiters.set('a', closed);
  limiters.set('b', closed);
  const call = ask(cluster, ADMIT);
  await cluster.pass(30);
  owners.learn(0, ownerAt('b', 2));
  await turnOfEvents();
  assert.is(sent.at(-1)?.address, 'b', 'an announcement of the new owner ends the pause');
  await cluster.pass(30);
  assert.is(await stateOf(call), 'pending');
  limiters.set('b', granting(2));
  await cluster.pass(20);
  assert.is(await granterOf(call), 2);
  assert.ok(clock.monotonicMs() < LIMITER_TIMEOUT_MS);
});

moved('the pause between two attempts is 5 to 20 ms', async () => {
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
    await cluster.pass(LIMITER_TIMEOUT_MS, 1);
    assert.is((await faultOf(call)).reason, 'limiter_unavailable');
    const pauses = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
    assert.equal(pauses.slice(0, expected.length), expected);
  }
});

const lost = suite('when an attempt has an unknown outcome');

lost('the call is not repeated and fails with the fault of the attempt', async () => {
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
      await cluster.pass(LIMITER_TIMEOUT_MS);
      assert.is(cluster.sent.length, 1);
      assert.equal(cluster.retries, []);
    }
  }
});

lost('the call is not repeated, even after an earlier attempt that had no effect', async () => {
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
    await cluster.pass(LIMITER_TIMEOUT_MS);
    assert.is(sent.length, 2);
  }
});

const refused = suite('a permanent refusal by a limiter');

refused('reaches the caller unchanged, without a retry', async () => {
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

for (const group of [moved, lost, refused]) group.run();
