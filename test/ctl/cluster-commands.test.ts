import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answerRollCalls } from '#cluster/roll-call';
import { OFFSET } from '#identity/state';
import { systemClock } from '#stdlib/clock';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { changeHead } from '#test/ctl/copy/changed-head';
import { ctlOn, fenced, ID, serving, storedByMoving } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import { CREATE, observed, process, seen } from '#test/engine/instance/instance-fixture';

const pair = suite('ctl with two engines');

pair('shows ring, shards, nodes, edges and consoles', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const ring = await ctlOn(cluster).text('ring');
  assert.match(
    ring,
    /^SERVICE +NODE +DUE +OWNS +TO COME +TO GO +SHARDS\nengine +a +4 +4 +0 +0 +[\d,-]+\nengine +b +4 +4 /,
  );
  const shards = await ctlOn(cluster).data('shards');
  assert.is(shards.length, SHARDS);
  const shardsOfA = shards.filter(({ node }: { node: string }) => node === 'a');
  assert.is(shardsOfA.length, 4);
  const [{ state, address, epoch, due_at }] = shardsOfA;
  assert.equal([state, address, epoch, due_at], ['served', 'a:8100', 1, 'a']);
  const place = { bus: cluster.bus, clock: systemClock, prefix: 'test', cluster: 'c1' };
  const since = { release: '1.1.0', startedAtMs: 1_800_000_000_000 };
  using _edge = answerRollCalls(place, { role: 'edge', node: 'e1', ...since });
  using _console = answerRollCalls(place, { role: 'console', node: 'k1', ...since });
  const nodes = await ctlOn(cluster).data('nodes');
  const found = nodes.map(({ node, state, owns, serves, agrees }: Record<string, unknown>) => [
    node,
    state,
    owns,
    serves,
    agrees,
  ]);
  assert.equal(found, [
    ['a', 'serving', 4, 4, true],
    ['b', 'serving', 4, 4, true],
    ['e1', 'serving', undefined, undefined, undefined],
    ['k1', 'serving', undefined, undefined, undefined],
  ]);
  const text = await ctlOn(cluster).text('nodes');
  assert.match(text, /^engine +a +[0-9a-f]{16} +a:8100 +serving +4 +4 +\S+ +yes /m);
  assert.match(text, /\nedge +e1( +-){2} +serving( +-){4} +2027-01-15T08:00:00.000Z +1\.1\.0\n/);
  const edges = await ctlOn(cluster).data('nodes', '--service', 'edge');
  assert.equal(
    edges.map(({ service, node, release }: Record<string, unknown>) => [service, node, release]),
    [['edge', 'e1', '1.1.0']],
  );
});

pair('shows an active instance and an inactive one', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  await cluster.ask(ID, CREATE);
  await cluster.ask(ID, observed({ mode: 2, signal: 0.7 }));
  const active = await ctlOn(cluster).data('instance', ID);
  assert.equal([active.is_active, active.is_served, active.stored], [true, true, undefined]);
  assert.equal(active.memory, { version: 2, generation: 1, cycle: 1 });
  assert.equal(active.last_cycles.length, 1);
  const [{ mode, signal, is_stored }] = active.last_cycles;
  assert.equal([mode, signal, is_stored], ['order', 0.7, false]);
  assert.match(await ctlOn(cluster).text('instance', ID), /^1 +1 +order +0\.7 +1 +\S+ +not yet$/m);

  const other = await storedByMoving(cluster);
  const idle = await ctlOn(cluster).data('instance', ID);
  assert.equal([idle.is_active, idle.address, idle.epoch], [false, `${other}:8100`, 2]);
  assert.equal([idle.stored.version, idle.stored.name, idle.stored.cycle], [2, 'Ada', 1]);
  assert.is(idle.last_cycles[0].is_stored, true);
  assert.match(
    await ctlOn(cluster).text('instance', ID),
    /^stored +version 2, generation 1, cycle 1$/m,
  );
});

pair('counts the missing rows among the newest observations of an instance', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  await cluster.ask(ID, CREATE);
  await cluster.ask(ID, observed({ mode: 2, signal: 0.7 }));
  await storedByMoving(cluster);
  await changeHead(cluster.stores.instances, ID, ({ historyCount }) => {
    return { newestHistory: { after: historyCount, rows: '' } };
  });
  assert.is((await ctlOn(cluster).data('instance', ID)).rows_missing, 1);
  assert.match(
    await ctlOn(cluster).text('instance', ID),
    /^rows missing +1 of the newest observations: run "ctl verify inst_0+aa"$/m,
  );
});

pair('drains a node, prints its progress, and leaves the node without shards', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const { code, out } = await ctl(['drain', 'a'], { cluster: cluster.ports });
  assert.is(code, 0);
  assert.match(out, /^(\d shards? left\n)*0 shards left\n/);
  assert.match(out, /^engine +a +[0-9a-f]{16} +a:8100 +0$/m);
  assert.match(out, /takes no new shards/);
  await serving(cluster, { a: 0, b: SHARDS });
  // Waits longer than the time of agreed views after which shards would move back.
  await sleep(4_500);
  const [a, b] = await ctlOn(cluster).data('nodes');
  assert.equal([a.node, a.state, a.owns, b.state, b.owns], ['a', 'leaving', 0, 'serving', SHARDS]);
  const again = await ctlOn(cluster).data('drain', 'a:8100');
  assert.equal([again.node, again.shards_left], ['a', 0]);
  assert.match(
    await ctlOn(cluster).refusal('drain', 'b'),
    /there is no other node to take its shards/,
  );
  assert.is(cluster.node('b').incarnation?.shards.size, SHARDS);
  assert.match(await ctlOn(cluster).refusal('drain', 'z'), /no live node "z"; live nodes: a, b/);
  assert.equal(cluster.bugs, []);
});

pair('keeps a drained engine from rejoining after its journal is sealed', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const { incarnation } = await ctlOn(cluster).data('drain', 'a');
  await cluster.stores.journals.seal(incarnation);
  await fenced(cluster, 'a');
  // Waits longer than the pause after which an engine that was not drained rejoins.
  await sleep(2_500);
  assert.is(cluster.node('a').incarnation, undefined);
  assert.is(cluster.node('b').incarnation?.shards.size, SHARDS);
});

pair('verifies an instance, and exits with 3 if its rows were changed', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  await cluster.ask(ID, CREATE);
  const at = (seconds: number) => seen({ timestampMs: Date.now() - 60_000 + seconds * 1_000 });
  await cluster.ask(ID, process(at(0), at(5), at(20)));
  assert.match(await ctlOn(cluster).refusal('verify', ID), /inst_\w+ is not stored/);
  await storedByMoving(cluster);
  const good = await ctlOn(cluster).text('verify', ID);
  assert.match(good, /^inst_0+aa +2 +1 +3 +same$/m);
  assert.match(good, /The replay of 3 observations of generation 1 gives the head, bit for bit\./);

  await changeHead(cluster.stores.instances, ID, ({ model }) => {
    return { model: model.with(OFFSET.stress, 0.25) };
  });
  const bad = await ctl(['verify', ID], { cluster: cluster.ports });
  assert.is(bad.code, 3);
  assert.match(bad.out, /The head and the stored rows differ:\n {2}stress is 0.25; the replay/);
});

const alone = suite('ctl with a cluster that is not running');

alone('reports that no node has ever owned a shard', async () => {
  await using cluster = await clusterInMemory([]);
  for (const argv of [['ring'], ['shards'], ['nodes'], ['drain', 'a']]) {
    assert.match(
      await ctlOn(cluster).refusal(...argv),
      /no engine or limiter has ever owned a shard/,
    );
  }
  assert.match(await ctlOn(cluster).refusal('instance', ID), /no engine has ever owned a shard/);
  const limiters = await ctlOn(cluster).refusal('nodes', '--service', 'limiter');
  assert.match(limiters, /no limiter has ever owned a shard/);
});

alone('shows owners without heartbeats, and owners with a sealed journal', async () => {
  await using cluster = await clusterInMemory([]);
  const { shards, journals: store } = cluster.stores;
  await shards.fixCluster('c1');
  await shards.fixCount('engine', 2);
  for (const owner of ['dead', 'mute']) {
    await store.begin(owner, `${owner}:8100`);
    const shard = owner === 'dead' ? 0 : 1;
    await shards.change({ service: 'engine', shard, from: undefined, owner });
  }
  await store.seal('dead');
  const nodes = await ctlOn(cluster).text('nodes');
  assert.match(nodes, /^engine +- +dead +dead:8100 +sealed +- +1 +- +- +- +-$/m);
  assert.match(nodes, /^engine +- +mute +mute:8100 +not heard +- +1 /m);
  assert.match(
    nodes,
    /No engine sent a heartbeat: set SERVICE_NATS_URL, .* SERVICE_CLUSTER_SECRET/,
  );
  assert.match(await ctlOn(cluster).text('shards'), /^engine +0 +not heard +- +- +dead +1 +-$/m);
  assert.match(await ctlOn(cluster).text('ring'), /^engine +dead +0 +1 +0 +0 +0$/m);
  assert.match(await ctlOn(cluster).refusal('instance', ID), /its engine does not answer/);
});

for (const group of [pair, alone]) group.run();
