import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { type EngineAnswer, plainAnswer } from '#grpc/engine-messages';
import { RETRY_PAUSE_MS_MIN } from '#routing/retry-policy';
import { ask, bodyOf, type Cluster } from '#test/routing/engine-calls';
import { callOf, clusterUnderTest, ownerAt, passing } from '#test/routing/routing-fakes';
import { faultOf, stateOf, turnOfEvents } from '#test/support/settled';

const lost = suite('when an attempt may have taken effect');

/** Makes an engine lose its first answer. The engine answers later calls with `then`. */
function forgetful({ owners, engines }: Cluster, then: () => EngineAnswer): void {
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    engines.set('a', then);
    throw passing('engine_unavailable', { isOutcomeUnknown: true });
  });
}

lost('the answer of a retry decides the outcome', async () => {
  const cluster = clusterUnderTest();
  forgetful(cluster, () => plainAnswer('the same answer'));
  const call = ask(cluster);
  await cluster.pass(RETRY_PAUSE_MS_MIN);
  assert.is(await bodyOf(call), 'the same answer');
});

lost('a later replay is marked, because it may be the result of that attempt', async () => {
  const cluster = clusterUnderTest();
  const replay = { ...plainAnswer('as before'), isReplayed: true };
  forgetful(cluster, () => replay);
  const late = ask(cluster);
  await cluster.pass(RETRY_PAUSE_MS_MIN);
  assert.is((await late).isPerhapsOwn, true);
  assert.is((await ask(cluster)).isPerhapsOwn, undefined, 'no other answer is marked');
});

lost('a call that ends at its deadline has an unknown outcome', async () => {
  const cluster = clusterUnderTest();
  forgetful(cluster, () => {
    throw passing('engine_unavailable');
  });
  const call = ask(cluster);
  await cluster.pass(10_000, 20);
  const { reason, isOutcomeUnknown } = await faultOf(call);
  assert.equal([reason, isOutcomeUnknown], ['engine_unavailable', true]);
});

lost('a later refusal is returned unchanged, with unknown outcome', async () => {
  const refusal = new Fault('invalid_request', 'no', {
    reason: 'out_of_range',
    field: 'f',
    mode: 'order',
    retryAfterS: 3,
  });
  const cluster = clusterUnderTest();
  forgetful(cluster, () => {
    throw refusal;
  });
  const call = ask(cluster);
  await cluster.pass(RETRY_PAUSE_MS_MIN);
  const fault = await faultOf(call);
  const { code, message, reason, field, mode, retryAfterS, isOutcomeUnknown } = fault;
  assert.equal(
    { code, message, reason, field, mode, retryAfterS, isOutcomeUnknown },
    {
      code: 'invalid_request',
      message: 'no',
      reason: 'out_of_range',
      field: 'f',
      mode: 'order',
      retryAfterS: 3,
      isOutcomeUnknown: true,
    },
  );
});

const unreachable = suite('when an engine cannot be reached');

unreachable('calls to the engine are sent as soon as the engine is reachable', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, engines, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => plainAnswer('from a'));
  const call = ask(cluster);
  await cluster.pass(1_000);
  assert.equal(sent, []);
  peers.get('a')?.open();
  assert.is(await bodyOf(call), 'from a');
});

unreachable('a call over a connection that breaks immediately is retried with pauses', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, engines, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('engine_unavailable', { isOutcomeUnknown: true });
  });
  const call = ask(cluster);
  await turnOfEvents();
  peers.get('a')?.open();
  await cluster.pass(1_000);
  assert.ok(sent.length < 10, `${sent.length} attempts`);
  await cluster.pass(9_500);
  assert.ok((await faultOf(call)).isOutcomeUnknown);
});

const addressed = suite('a call to one address');
addressed('waits for its connection, but not beyond its deadline', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { engines, peers, routed, clock } = cluster;
  engines.set('a', () => plainAnswer('from a'));
  const deadlineAtMs = clock.wallMs() + 300;
  const call = routed.askAt('a', callOf(clock, { deadlineAtMs }));
  const late = routed.askAt('b', callOf(clock, { deadlineAtMs }));
  await turnOfEvents();
  peers.get('a')?.open();
  assert.is(await bodyOf(call), 'from a');
  assert.is(await stateOf(late), 'pending');
  await cluster.pass(300);
  assert.is((await faultOf(late)).reason, 'engine_unavailable');
});

addressed('is not sent again after a refusal', async () => {
  const cluster = clusterUnderTest();
  cluster.engines.set('a', () => {
    throw passing('not_owner');
  });
  const { routed, clock, sent } = cluster;
  assert.is((await faultOf(routed.askAt('a', callOf(clock)))).reason, 'not_owner');
  assert.is(sent.length, 1);
});

for (const group of [lost, unreachable, addressed]) group.run();
