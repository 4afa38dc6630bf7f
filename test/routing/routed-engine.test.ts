import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { type EngineAnswer, type EngineCommand, plainAnswer } from '#grpc/engine-messages';
import { inProcessPeer } from '#routing/peer';
import { RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN, WAITING_CALLS_MAX } from '#routing/retry-policy';
import { RoutedEngine } from '#routing/routed-service';
import { ask, bodyOf } from '#test/routing/engine-calls';
import {
  callOf,
  clusterUnderTest,
  FakeOwners,
  ownerAt,
  passing,
  SHARDS,
  shardOf,
} from '#test/routing/routing-fakes';
import { ManualClock } from '#test/support/manual-clock';
import { faultOf, refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const known = suite('when the owner of a shard is known');

known('a call is sent to its instance’s owner, and its answer returns without a promise', () => {
  const cluster = clusterUnderTest();
  const { owners, engines, routed, clock, sent } = cluster;
  for (const [shard, address] of [
    [0, 'a'],
    [3, 'b'],
  ] as const) {
    owners.learn(shard, ownerAt(address));
    engines.set(address, () => plainAnswer(`from ${address}`));
  }
  assert.is((routed.ask(callOf(clock)) as EngineAnswer).body, 'from a');
  const call = callOf(clock, { instanceId: 'inst_3' });
  assert.is((routed.ask(call) as EngineAnswer).body, 'from b');
  assert.is(sent[1]?.call, call);
  assert.is(routed.addressOf('inst_3'), 'b');
  assert.is(routed.addressOf('inst_4'), undefined);
});

known('a promise of an answer is returned unchanged', () => {
  const clock = new ManualClock();
  const owners = new FakeOwners();
  const promise = Promise.resolve(plainAnswer(''));
  const peer = { ...inProcessPeer({ ask: () => promise }, clock), askOr: () => promise };
  const connect = () => peer;
  const options = { routes: owners, shardCount: SHARDS, shardOf, connect, clock };
  const routed = new RoutedEngine({ ...options, random: () => 0 });
  owners.learn(0, ownerAt('a'));
  assert.is(routed.ask(callOf(clock)), promise);
});

known('a call for a listing is sent to the owner of the account', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(1, ownerAt('directory'));
  owners.learn(0, ownerAt('instance'));
  for (const address of ['directory', 'instance']) engines.set(address, () => plainAnswer(''));
  const commands: EngineCommand[] = [
    { kind: 'list', limit: 1, offset: 0, sort: 'name', order: 'asc' },
    { kind: 'putListingRow', version: 1, name: 'a', description: '', createdAtMs: 0 },
    { kind: 'removeListingRow', version: 1 },
  ];
  for (const command of commands) await ask(cluster, { command });
  assert.equal(
    sent.map(({ address }) => address),
    ['directory', 'directory', 'directory'],
  );
});

known('a refusal of the actor is returned unchanged, without a retry', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  const refusals = [
    new Fault('not_found', 'no such instance'),
    new Fault('conflict', 'changed', { reason: 'version_mismatch' }),
    new Fault('service_unavailable', 'full', { reason: 'overloaded' }),
    new Fault('service_unavailable', 'late', { reason: 'deadline_exceeded' }),
    new Fault('service_unavailable', 'the store is away'),
    new Fault('internal', 'internal error', { isOutcomeUnknown: true }),
  ];
  for (const refusal of refusals) {
    engines.set('a', () => {
      throw refusal;
    });
    assert.is(await refusalOf(() => ask(cluster)), refusal);
    engines.set('a', async () => {
      throw refusal;
    });
    assert.is(await refusalOf(() => ask(cluster)), refusal);
  }
  assert.is(sent.length, 2 * refusals.length);
  assert.equal(cluster.retries, []);
});

known('a call is not retried after a bug of an engine', async () => {
  const cluster = clusterUnderTest();
  cluster.owners.learn(0, ownerAt('a'));
  const bug = new TypeError('a bug');
  cluster.engines.set('a', () => {
    throw bug;
  });
  assert.is(await refusalOf(() => ask(cluster)), bug);
});

const moved = suite('when a shard has moved');

moved('the call is sent immediately to the new owner that a refusal names', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, retries } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('not_owner', { owner: ownerAt('b', 2) });
  });
  engines.set('b', () => plainAnswer('from b'));
  const call = ask(cluster, { callId: 42 });
  assert.is(await bodyOf(call), 'from b');
  assert.equal(owners.ownerOf(0), ownerAt('b', 2));
  assert.equal(retries, ['not_owner']);
  const [first, second] = sent;
  assert.is(second?.call, first?.call);
  assert.is(second?.atMs, 0);
});

moved('a refusal that names an older owner changes nothing', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines } = cluster;
  owners.learn(0, ownerAt('a', 5));
  engines.set('a', () => {
    throw passing('not_owner', { owner: ownerAt('b', 4) });
  });
  const call = ask(cluster);
  await turnOfEvents();
  assert.equal(owners.ownerOf(0), ownerAt('a', 5));
  engines.set('a', () => plainAnswer('from a'));
  await cluster.pass(RETRY_PAUSE_MS_MIN);
  assert.is(await bodyOf(call), 'from a');
});

moved('two engines that name each other are called with pauses', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  let epoch = 1;
  const elsewhere = (address: string) => () => {
    epoch += 1;
    throw passing('not_owner', { owner: ownerAt(address, epoch) });
  };
  engines.set('a', elsewhere('b'));
  engines.set('b', elsewhere('a'));
  const call = ask(cluster);
  await cluster.pass(11_000);
  assert.is((await faultOf(call)).reason, 'engine_unavailable');
  assert.ok(sent.length < 100, `${sent.length} attempts`);
});

moved('the pauses between attempts grow from 20 ms to 250 ms', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('not_owner');
  });
  const call = ask(cluster);
  await cluster.pass(2_000);
  const pauses = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
  assert.equal(pauses.slice(0, 6), [20, 40, 80, 160, RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MAX]);
  engines.set('a', () => plainAnswer('late'));
  await cluster.pass(RETRY_PAUSE_MS_MAX);
  assert.is(await bodyOf(call), 'late');
});

moved('a pause ends when the owner of the shard changes, but not for another shard', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, routed } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('shutting_down');
  });
  engines.set('b', () => plainAnswer('from b'));
  const call = ask(cluster);
  await turnOfEvents();
  assert.is(routed.totals.waitingCalls, 1);
  owners.learn(1, ownerAt('b'));
  await turnOfEvents();
  assert.is(sent.length, 1);
  owners.learn(0, ownerAt('b', 2));
  assert.is(await bodyOf(call), 'from b');
  assert.is(routed.totals.waitingCalls, 0);
});

const orphaned = suite('when no node owns a shard');

orphaned('the call waits for an owner', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, retries } = cluster;
  engines.set('a', () => plainAnswer('from a'));
  const call = ask(cluster);
  await cluster.pass(3_000);
  assert.equal(sent, []);
  owners.learn(0, ownerAt('a'));
  assert.is(await bodyOf(call), 'from a');
  assert.equal([...new Set(retries)], ['no_owner']);
});

orphaned(
  'the call ends at its deadline as not executed, with a time after which to retry',
  async () => {
    const cluster = clusterUnderTest();
    const call = ask(cluster, { deadlineAtMs: cluster.clock.wallMs() + 500 });
    await cluster.pass(495);
    assert.is(await stateOf(call), 'pending');
    await cluster.pass(5);
    const { code, reason, retryAfterS, isOutcomeUnknown } = await faultOf(call);
    assert.equal(
      { code, reason, retryAfterS, isOutcomeUnknown },
      {
        code: 'service_unavailable',
        reason: 'engine_unavailable',
        retryAfterS: 1,
        isOutcomeUnknown: false,
      },
    );
  },
);

orphaned(
  'no call waits longer than 10 s, even with a later deadline or a wrong wall clock',
  async () => {
    const cluster = clusterUnderTest();
    const far = ask(cluster, { deadlineAtMs: cluster.clock.wallMs() + 60_000 });
    const stepped = ask(cluster);
    await cluster.pass(100);
    cluster.clock.stepWall(-3_600_000);
    await cluster.pass(9_900, 50);
    for (const call of [far, stepped]) {
      assert.is((await faultOf(call)).reason, 'engine_unavailable');
    }
  },
);

orphaned('a bounded number of calls waits, and a further call is refused immediately', async () => {
  const cluster = clusterUnderTest();
  const waiting = Array.from({ length: WAITING_CALLS_MAX }, () => ask(cluster));
  const { reason, retryAfterS } = await faultOf(ask(cluster));
  assert.equal([reason, retryAfterS], ['overloaded', 1]);
  assert.is(cluster.routed.totals.waitingCalls, WAITING_CALLS_MAX);
  cluster.engines.set('a', () => plainAnswer('from a'));
  cluster.owners.learn(0, ownerAt('a'));
  assert.is((await Promise.all(waiting)).length, WAITING_CALLS_MAX);
});

for (const group of [known, moved, orphaned]) group.run();
