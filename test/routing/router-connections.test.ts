import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { plainAnswer } from '#grpc/engine-messages';
import { CONNECT_AGAIN_MS, RETRY_PAUSE_MS_MIN, ROUTES_MS_MAX } from '#routing/retry-policy';
import { ask, bodyOf } from '#test/routing/engine-calls';
import { callOf, clusterUnderTest, ownerAt, passing, SHARDS } from '#test/routing/routing-fakes';
import { faultOf, stateOf, turnOfEvents } from '#test/support/settled';

const starting = suite('a router that has just started');

starting('is ready when every shard has an owner and every owner is connected', async () => {
  const cluster = clusterUnderTest({ isOpen: false });
  const { owners, peers, routed } = cluster;
  const ready = routed.ready();
  for (let shard = 0; shard < SHARDS; shard += 1) {
    await cluster.pass(100);
    assert.is(await stateOf(ready), 'pending', `before shard ${shard}`);
    owners.learn(shard, ownerAt(shard === 0 ? 'a' : 'b'));
  }
  await cluster.pass(100);
  peers.get('a')?.open();
  await cluster.pass(100);
  assert.is(await stateOf(ready), 'pending');
  peers.get('b')?.open();
  await cluster.pass(20);
  assert.equal(await stateOf(ready), { value: undefined });
});

starting(
  'is ready after a maximum wait if a shard has no owner, and connects to the other owners',
  async () => {
    const cluster = clusterUnderTest();
    for (let shard = 1; shard < SHARDS; shard += 1) cluster.owners.learn(shard, ownerAt('a'));
    const ready = cluster.routed.ready();
    assert.ok(cluster.peers.has('a'));
    await cluster.pass(ROUTES_MS_MAX - 20);
    assert.is(await stateOf(ready), 'pending');
    await cluster.pass(20);
    assert.equal(await stateOf(ready), { value: undefined });
  },
);

starting('stops waiting when it is closed, and connects to no more nodes', async () => {
  const cluster = clusterUnderTest();
  const ready = cluster.routed.ready();
  await cluster.pass(100);
  await cluster.routed[Symbol.asyncDispose]();
  for (let shard = 0; shard < SHARDS; shard += 1) cluster.owners.learn(shard, ownerAt('a'));
  await cluster.pass(100);
  assert.equal(await stateOf(ready), { value: undefined });
  assert.is(cluster.peers.size, 0);
});

const connections = suite('the connections of a router');

connections(
  'are shared per address, and close about 30 s after the last shard has left the address',
  async () => {
    const cluster = clusterUnderTest();
    const { owners, engines, peers, routed } = cluster;
    for (const address of ['a', 'b']) engines.set(address, () => plainAnswer(''));
    for (let shard = 0; shard < SHARDS; shard += 1) {
      owners.learn(shard, ownerAt(shard % 2 === 0 ? 'a' : 'b'));
      await ask(cluster, { instanceId: `inst_${shard}` });
    }
    assert.is(routed.totals.peers, 2);
    await cluster.pass(120_000, 1_000);
    assert.is(routed.totals.peers, 2);
    for (let shard = 1; shard < SHARDS; shard += 2) owners.learn(shard, ownerAt('a', 2));
    await cluster.pass(27_000, 1_000);
    assert.not.ok(peers.get('b')?.isDisposed);
    await cluster.pass(6_000, 1_000);
    assert.ok(peers.get('b')?.isDisposed);
    assert.not.ok(peers.get('a')?.isDisposed);
    assert.is(routed.totals.peers, 1);
  },
);

connections(
  'are opened again when another process takes the address of a dead process',
  async () => {
    const cluster = clusterUnderTest();
    const { owners, engines, peers } = cluster;
    owners.learn(0, ownerAt('a'));
    engines.set('a', () => plainAnswer('from a'));
    await ask(cluster);
    const old = peers.get('a');
    owners.learn(1, { ...ownerAt('a'), incarnation: 'inc_2' });
    assert.is(peers.get('a'), old, 'an open connection stays');
    old?.lose();
    const call = ask(cluster);
    await turnOfEvents();
    owners.learn(0, { ...ownerAt('a', 2), incarnation: 'inc_2' });
    assert.is(peers.get('a'), old, 'a known process opens no new connection');
    owners.learn(0, { ...ownerAt('a', 3), incarnation: 'inc_3' });
    assert.ok(old?.isDisposed);
    assert.is(await bodyOf(call), 'from a');
    const second = peers.get('a');
    second?.lose();
    owners.learn(1, { ...ownerAt('a', 4), incarnation: 'inc_4' });
    assert.is.not(peers.get('a'), second, 'the router also reconnects while no call waits');
  },
);

connections('are opened when a node joins, before the node owns a shard', () => {
  const { owners, peers } = clusterUnderTest();
  owners.join(ownerAt('a'));
  const first = peers.get('a');
  assert.ok(first);
  owners.join(ownerAt('a'));
  owners.join({ ...ownerAt('a'), incarnation: 'inc_2' });
  assert.is(peers.get('a'), first, 'an open connection stays');
  first?.lose();
  owners.join({ ...ownerAt('a'), incarnation: 'inc_3' });
  assert.is.not(
    peers.get('a'),
    first,
    'the router connects immediately to a new process at the address of a dead process',
  );
});

connections('are attempted again when an unconnected node gets a shard', async () => {
  const cluster = clusterUnderTest();
  const { owners, peers } = cluster;
  owners.join(ownerAt('a'));
  const first = peers.get('a');
  first?.lose();
  await cluster.pass(CONNECT_AGAIN_MS - 10);
  owners.learn(0, ownerAt('a'));
  assert.is(peers.get('a'), first, 'the previous attempt is too recent');
  await cluster.pass(10);
  owners.learn(1, ownerAt('a'));
  assert.is.not(peers.get('a'), first);
});

connections(
  'are closed for a node without shards, and reopened when the node gets a shard',
  async () => {
    const cluster = clusterUnderTest();
    const { owners, peers, routed } = cluster;
    owners.join(ownerAt('a'));
    owners.join(ownerAt('b'));
    owners.learn(1, ownerAt('b'));
    await cluster.pass(33_000, 1_000);
    assert.ok(peers.get('a')?.isDisposed);
    assert.is(routed.totals.peers, 1);
    owners.learn(0, ownerAt('a'));
    assert.not.ok(peers.get('a')?.isDisposed);
    assert.is(routed.totals.peers, 2);
  },
);

connections('are limited to 256, and a closed connection makes room for another', async () => {
  const cluster = clusterUnderTest();
  const { routed, clock, engines, owners } = cluster;
  for (let n = 0; n < 256; n += 1) {
    engines.set(`n${n}`, () => plainAnswer(''));
    await routed.askAt(`n${n}`, callOf(clock));
  }
  engines.set('one more', () => plainAnswer('at last'));
  assert.is((await faultOf(routed.askAt('one more', callOf(clock)))).reason, 'engine_unavailable');
  owners.learn(0, ownerAt('one more'));
  await cluster.pass(29_000, 1_000);
  const call = ask(cluster);
  await cluster.pass(5_000, 50);
  assert.is(await bodyOf(call), 'at last');
});

connections('are closed with the router, and waiting calls end', async () => {
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
  await cluster.pass(RETRY_PAUSE_MS_MIN);
  assert.is((await faultOf(next)).reason, 'shutting_down');
  assert.is(sent.length, 1);
  assert.is(routed.totals.peers, 0);
});

for (const group of [starting, connections]) group.run();
