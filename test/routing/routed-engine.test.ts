import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#fault/fault';
import { inProcessPeer } from '#routing/peer';
import { RoutedEngine } from '#routing/routed-engine';
import {
  CONNECT_AGAIN_MS,
  RETRY_PAUSE_MS_MAX,
  RETRY_PAUSE_MS_MIN,
  ROUTES_MS_MAX,
  WAITING_CALLS_MAX,
} from '#routing/routing-bounds';
import {
  answerOf,
  callOf,
  clusterUnderTest,
  FakeOwners,
  faultOf,
  ownerAt,
  pass,
  passing,
  SHARDS,
  shardOf,
} from '#test/routing/routing-fakes';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import type { EngineAnswer, EngineCall, EngineCommand } from '#wire/engine-messages';

type Cluster = ReturnType<typeof clusterUnderTest>;

/** Asks, so that a throw is a rejection too, at whatever time the test looks at it. */
function ask({ routed, clock }: Cluster, change: Partial<EngineCall> = {}): Promise<EngineAnswer> {
  const answer = (async () => routed.ask(callOf(clock, change)))();
  answer.catch(() => undefined);
  return answer;
}

async function bodyOf(call: Promise<EngineAnswer>): Promise<string> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'value' in state) return String(state.value.body);
  throw new Error('the call has not been answered');
}

const known = suite('when the owner of a shard is known');

known('a call goes to the owner of its instance, and its answer comes back unpromised', () => {
  const cluster = clusterUnderTest();
  const { owners, engines, routed, clock, sent } = cluster;
  for (const [shard, address] of [
    [0, 'a'],
    [3, 'b'],
  ] as const) {
    owners.learn(shard, ownerAt(address));
    engines.set(address, () => answerOf(`from ${address}`));
  }
  assert.is((routed.ask(callOf(clock)) as EngineAnswer).body, 'from a');
  const call = callOf(clock, { instanceId: 'inst_3' });
  assert.is((routed.ask(call) as EngineAnswer).body, 'from b');
  assert.is(sent[1]?.call, call);
  assert.is(routed.addressOf('inst_3'), 'b');
  assert.is(routed.addressOf('inst_4'), undefined);
});

known('its owner’s promise is the call’s own: none is added on the way', () => {
  const clock = new ManualClock();
  const owners = new FakeOwners();
  const promise = Promise.resolve(answerOf(''));
  const peer = { ...inProcessPeer({ ask: () => promise }, clock), askOr: () => promise };
  const connect = () => peer;
  const options = { routes: owners, shardCount: SHARDS, shardOf, connect, clock };
  const routed = new RoutedEngine({ ...options, random: () => 0 });
  owners.learn(0, ownerAt('a'));
  assert.is(routed.ask(callOf(clock)), promise);
});

known('a call for a listing goes to the owner of the account', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(1, ownerAt('directory'));
  owners.learn(0, ownerAt('instance'));
  for (const address of ['directory', 'instance']) engines.set(address, () => answerOf(''));
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

known('what the actor refuses comes back as it is, and is not tried again', async () => {
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

known('an engine’s bug is no reason to try again', async () => {
  const cluster = clusterUnderTest();
  cluster.owners.learn(0, ownerAt('a'));
  const bug = new TypeError('a bug');
  cluster.engines.set('a', () => {
    throw bug;
  });
  assert.is(await refusalOf(() => ask(cluster)), bug);
});

const moved = suite('when a shard has moved');

moved('the call follows the refusal that names the new owner at once', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, retries } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('not_owner', { owner: ownerAt('b', 2) });
  });
  engines.set('b', () => answerOf('from b'));
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
  engines.set('a', () => answerOf('from a'));
  await pass(cluster, RETRY_PAUSE_MS_MIN);
  assert.is(await bodyOf(call), 'from a');
});

moved('two engines that name each other are not asked without pause', async () => {
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
  await pass(cluster, 11_000);
  assert.is((await faultOf(call)).reason, 'engine_unavailable');
  assert.ok(sent.length < 100, `${sent.length} tries`);
});

moved('pauses grow from 20 ms to 250 ms', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('not_owner');
  });
  const call = ask(cluster);
  await pass(cluster, 2_000);
  const pauses = sent.slice(1).map(({ atMs }, at) => atMs - (sent[at]?.atMs ?? 0));
  assert.equal(pauses.slice(0, 6), [20, 40, 80, 160, RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MAX]);
  engines.set('a', () => answerOf('late'));
  await pass(cluster, RETRY_PAUSE_MS_MAX);
  assert.is(await bodyOf(call), 'late');
});

moved('news of the shard end a pause, news of another do not', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, routed } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('shutting_down');
  });
  engines.set('b', () => answerOf('from b'));
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

const orphaned = suite('when nobody owns a shard');

orphaned('the call waits for an owner to show up', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, sent, retries } = cluster;
  engines.set('a', () => answerOf('from a'));
  const call = ask(cluster);
  await pass(cluster, 3_000);
  assert.equal(sent, []);
  owners.learn(0, ownerAt('a'));
  assert.is(await bodyOf(call), 'from a');
  assert.equal([...new Set(retries)], ['no_owner']);
});

orphaned('the call ends at its deadline as not done, with a time to come back', async () => {
  const cluster = clusterUnderTest();
  const call = ask(cluster, { deadlineAtMs: cluster.clock.wallMs() + 500 });
  await pass(cluster, 495);
  assert.is(await stateOf(call), 'pending');
  await pass(cluster, 5);
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
});

orphaned(
  'no call waits longer than 10 s, whatever its deadline or the wall clock says',
  async () => {
    const cluster = clusterUnderTest();
    const far = ask(cluster, { deadlineAtMs: cluster.clock.wallMs() + 60_000 });
    const stepped = ask(cluster);
    await pass(cluster, 100);
    cluster.clock.stepWall(-3_600_000);
    await pass(cluster, 9_900, 50);
    for (const call of [far, stepped]) {
      assert.is((await faultOf(call)).reason, 'engine_unavailable');
    }
  },
);

orphaned('only so many calls wait; one more is refused at once', async () => {
  const cluster = clusterUnderTest();
  const waiting = Array.from({ length: WAITING_CALLS_MAX }, () => ask(cluster));
  const { reason, retryAfterS } = await faultOf(ask(cluster));
  assert.equal([reason, retryAfterS], ['overloaded', 1]);
  assert.is(cluster.routed.totals.waitingCalls, WAITING_CALLS_MAX);
  cluster.engines.set('a', () => answerOf('from a'));
  cluster.owners.learn(0, ownerAt('a'));
  assert.is((await Promise.all(waiting)).length, WAITING_CALLS_MAX);
});

const lost = suite('when a try may have happened');

/** An engine whose first answer is lost, and which then does as told. */
function forgetful({ owners, engines }: Cluster, then: () => EngineAnswer): void {
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    engines.set('a', then);
    throw passing('engine_unavailable', { isOutcomeUnknown: true });
  });
}

lost('an answer settles it', async () => {
  const cluster = clusterUnderTest();
  forgetful(cluster, () => answerOf('the same again'));
  const call = ask(cluster);
  await pass(cluster, RETRY_PAUSE_MS_MIN);
  assert.is(await bodyOf(call), 'the same again');
});

lost('a replay that follows it is marked, because it may be of that very try', async () => {
  const cluster = clusterUnderTest();
  const replay = { ...answerOf('as before'), isReplayed: true };
  forgetful(cluster, () => replay);
  const late = ask(cluster);
  await pass(cluster, RETRY_PAUSE_MS_MIN);
  assert.is((await late).isPerhapsOwn, true);
  assert.is((await ask(cluster)).isPerhapsOwn, undefined, 'and no other');
});

lost('the end of time leaves it unknown', async () => {
  const cluster = clusterUnderTest();
  forgetful(cluster, () => {
    throw passing('engine_unavailable');
  });
  const call = ask(cluster);
  await pass(cluster, 10_000, 20);
  const { reason, isOutcomeUnknown } = await faultOf(call);
  assert.equal([reason, isOutcomeUnknown], ['engine_unavailable', true]);
});

lost('a later refusal is passed on as it is, but leaves it unknown', async () => {
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
  await pass(cluster, RETRY_PAUSE_MS_MIN);
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

unreachable('its calls go out as soon as it can', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, engines, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => answerOf('from a'));
  const call = ask(cluster);
  await pass(cluster, 1_000);
  assert.equal(sent, []);
  peers.get('a')?.open();
  assert.is(await bodyOf(call), 'from a');
});

unreachable('a connection that breaks at once is not tried without pause', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, engines, peers, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('engine_unavailable', { isOutcomeUnknown: true });
  });
  const call = ask(cluster);
  await turnOfEvents();
  peers.get('a')?.open();
  await pass(cluster, 1_000);
  assert.ok(sent.length < 10, `${sent.length} tries`);
  await pass(cluster, 9_500);
  assert.ok((await faultOf(call)).isOutcomeUnknown);
});

unreachable(
  'a question for one address waits for its connection, but not past its time',
  async () => {
    const cluster = clusterUnderTest({ isOpen: false });
    const { engines, peers, routed, clock } = cluster;
    engines.set('a', () => answerOf('from a'));
    const deadlineAtMs = clock.wallMs() + 300;
    const call = routed.askAt('a', callOf(clock, { deadlineAtMs }));
    const late = routed.askAt('b', callOf(clock, { deadlineAtMs }));
    await turnOfEvents();
    peers.get('a')?.open();
    assert.is(await bodyOf(call), 'from a');
    assert.is(await stateOf(late), 'pending');
    await pass(cluster, 300);
    assert.is((await faultOf(late)).reason, 'engine_unavailable');
  },
);

unreachable('a question for one address is asked once', async () => {
  const cluster = clusterUnderTest();
  cluster.engines.set('a', () => {
    throw passing('not_owner');
  });
  const { routed, clock, sent } = cluster;
  assert.is((await faultOf(routed.askAt('a', callOf(clock)))).reason, 'not_owner');
  assert.is(sent.length, 1);
});

const starting = suite('a router that has just started');

starting('is ready when every shard has an owner and is connected to it', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, peers, routed } = cluster;
  const ready = routed.ready();
  for (let shard = 0; shard < SHARDS; shard += 1) {
    await pass(cluster, 100);
    assert.is(await stateOf(ready), 'pending', `before shard ${shard}`);
    owners.learn(shard, ownerAt(shard === 0 ? 'a' : 'b'));
  }
  await pass(cluster, 100);
  peers.get('a')?.open();
  await pass(cluster, 100);
  assert.is(await stateOf(ready), 'pending');
  peers.get('b')?.open();
  await pass(cluster, 20);
  assert.equal(await stateOf(ready), { value: undefined });
});

starting(
  'does not wait for ever for the owner of a shard, and connects to the others',
  async () => {
    const cluster = clusterUnderTest();
    for (let shard = 1; shard < SHARDS; shard += 1) cluster.owners.learn(shard, ownerAt('a'));
    const ready = cluster.routed.ready();
    assert.ok(cluster.peers.has('a'));
    await pass(cluster, ROUTES_MS_MAX - 20);
    assert.is(await stateOf(ready), 'pending');
    await pass(cluster, 20);
    assert.equal(await stateOf(ready), { value: undefined });
  },
);

starting('stops waiting when it is closed, and connects to nobody any more', async () => {
  const cluster = clusterUnderTest();
  const ready = cluster.routed.ready();
  await pass(cluster, 100);
  await cluster.routed[Symbol.asyncDispose]();
  for (let shard = 0; shard < SHARDS; shard += 1) cluster.owners.learn(shard, ownerAt('a'));
  await pass(cluster, 100);
  assert.equal(await stateOf(ready), { value: undefined });
  assert.is(cluster.peers.size, 0);
});

const connections = suite('the connections of a router');

connections(
  'are one per address, and go when its last shard has been gone for a while',
  async () => {
    const cluster = clusterUnderTest();
    const { owners, engines, peers, routed } = cluster;
    for (const address of ['a', 'b']) engines.set(address, () => answerOf(''));
    for (let shard = 0; shard < SHARDS; shard += 1) {
      owners.learn(shard, ownerAt(shard % 2 === 0 ? 'a' : 'b'));
      await ask(cluster, { instanceId: `inst_${shard}` });
    }
    assert.is(routed.totals.peers, 2);
    await pass(cluster, 120_000, 1_000);
    assert.is(routed.totals.peers, 2);
    for (let shard = 1; shard < SHARDS; shard += 2) owners.learn(shard, ownerAt('a', 2));
    await pass(cluster, 27_000, 1_000);
    assert.not.ok(peers.get('b')?.isDisposed);
    await pass(cluster, 6_000, 1_000);
    assert.ok(peers.get('b')?.isDisposed);
    assert.not.ok(peers.get('a')?.isDisposed);
    assert.is(routed.totals.peers, 1);
  },
);

connections('of a dead process are tried anew when another takes its address', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, peers } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => answerOf('from a'));
  await ask(cluster);
  const old = peers.get('a');
  owners.learn(1, { ...ownerAt('a'), incarnation: 'inc_2' });
  assert.is(peers.get('a'), old, 'one that is open stays');
  old?.lose();
  const call = ask(cluster);
  await turnOfEvents();
  owners.learn(0, { ...ownerAt('a', 2), incarnation: 'inc_2' });
  assert.is(peers.get('a'), old, 'its process is the one that was known already');
  owners.learn(0, { ...ownerAt('a', 3), incarnation: 'inc_3' });
  assert.ok(old?.isDisposed);
  assert.is(await bodyOf(call), 'from a');
  const second = peers.get('a');
  second?.lose();
  owners.learn(1, { ...ownerAt('a', 4), incarnation: 'inc_4' });
  assert.is.not(peers.get('a'), second, 'also while no call waits');
});

connections('are made when a node comes, before it owns anything', () => {
  const { owners, peers } = clusterUnderTest();
  owners.join(ownerAt('a'));
  const first = peers.get('a');
  assert.ok(first);
  owners.join(ownerAt('a'));
  owners.join({ ...ownerAt('a'), incarnation: 'inc_2' });
  assert.is(peers.get('a'), first, 'one that is open stays');
  first?.lose();
  owners.join({ ...ownerAt('a'), incarnation: 'inc_3' });
  assert.is.not(peers.get('a'), first, 'who comes to the address of the dead is tried at once');
});

connections(
  'are tried anew when their node gets a shard and they are still not there',
  async () => {
    const cluster = clusterUnderTest();
    const { owners, peers } = cluster;
    owners.join(ownerAt('a'));
    const first = peers.get('a');
    first?.lose();
    await pass(cluster, CONNECT_AGAIN_MS - 10);
    owners.learn(0, ownerAt('a'));
    assert.is(peers.get('a'), first, 'it has only just begun');
    await pass(cluster, 10);
    owners.learn(1, ownerAt('a'));
    assert.is.not(peers.get('a'), first);
  },
);

connections('to a node without a shard go, and come back with its first', async () => {
  const cluster = clusterUnderTest();
  const { owners, peers, routed } = cluster;
  owners.join(ownerAt('a'));
  owners.join(ownerAt('b'));
  owners.learn(1, ownerAt('b'));
  await pass(cluster, 33_000, 1_000);
  assert.ok(peers.get('a')?.isDisposed);
  assert.is(routed.totals.peers, 1);
  owners.learn(0, ownerAt('a'));
  assert.not.ok(peers.get('a')?.isDisposed);
  assert.is(routed.totals.peers, 2);
});

connections('are bounded, and room is made when others go', async () => {
  const cluster = clusterUnderTest();
  const { routed, clock, engines, owners } = cluster;
  for (let n = 0; n < 256; n += 1) {
    engines.set(`n${n}`, () => answerOf(''));
    await routed.askAt(`n${n}`, callOf(clock));
  }
  engines.set('one more', () => answerOf('at last'));
  assert.is((await faultOf(routed.askAt('one more', callOf(clock)))).reason, 'engine_unavailable');
  owners.learn(0, ownerAt('one more'));
  await pass(cluster, 29_000, 1_000);
  const call = ask(cluster);
  await pass(cluster, 5_000, 50);
  assert.is(await bodyOf(call), 'at last');
});

connections('are closed with the router, and calls that wait end', async () => {
  const cluster = clusterUnderTest();
  const { routed, peers, owners, engines, sent } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('a', () => {
    throw passing('engine_unavailable', { isOutcomeUnknown: true });
  });
  const call = ask(cluster);
  await turnOfEvents();
  await routed[Symbol.asyncDispose]();
  const { reason, isOutcomeUnknown } = await faultOf(call);
  assert.equal([reason, isOutcomeUnknown], ['shutting_down', true]);
  assert.ok(peers.get('a')?.isDisposed);
  assert.is(owners.listenerCount, 0);
  const next = ask(cluster);
  await pass(cluster, RETRY_PAUSE_MS_MIN);
  assert.is((await faultOf(next)).reason, 'shutting_down');
  assert.is(sent.length, 1);
  assert.is(routed.totals.peers, 0);
});

for (const group of [known, moved, orphaned, lost, unreachable, starting, connections]) group.run();
