import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OFFSET } from '#identity/state';
import { rowOfMeter } from '#storage/meter-row';
import type { MeterRecord } from '#storage/meter-store';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { ctl } from '#test/ctl/ctl-run';
import { CREATE, process, seen } from '#test/engine/instance-fixture';
import { groupOf } from '#test/runtime/journal-records';

type Cluster = Awaited<ReturnType<typeof clusterInMemory>>;

/** Longest wait for the cluster to come to what it should be, in milliseconds. */
const SETTLED_MS_MAX = 20_000;

const ID = 'inst_00000000000000aa';

/** What a command says to machines. */
async function dataOf({ ports: cluster }: Cluster, ...argv: string[]) {
  const { code, out, err } = await ctl([...argv, '--json'], { cluster });
  assert.is(code, 0, err);
  return JSON.parse(out);
}

async function textOf({ ports: cluster }: Cluster, ...argv: string[]) {
  const { code, out, err } = await ctl(argv, { cluster });
  assert.is(code, 0, err);
  return out;
}

async function refusalOf({ ports: cluster }: Cluster, ...argv: string[]) {
  const { code, out, err } = await ctl(argv, { cluster });
  assert.is(code, 1, out);
  assert.match(err, /^ctl: [^\n]+$/);
  return err;
}

/** Until nodes serve so many shards each, by name. */
async function serving(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  const untilMs = performance.now() + SETTLED_MS_MAX;
  const isSo = () =>
    Object.entries(shares).every(
      ([name, share]) => cluster.node(name).incarnation?.shards.size === share,
    );
  while (!isSo()) {
    assert.ok(performance.now() < untilMs, 'the shards are where they should be in time');
    await sleep(50);
  }
}

/** Until an engine has noticed that its journal is sealed. */
async function fenced(cluster: Cluster, name: string): Promise<void> {
  const untilMs = performance.now() + SETTLED_MS_MAX;
  while (cluster.node(name).incarnation !== undefined) {
    assert.ok(performance.now() < untilMs, 'the end is noticed in time');
    await sleep(50);
  }
}

/** Drains whoever has the instance, which stores it; answers the node that it moves to. */
async function storedByMoving(cluster: Cluster): Promise<string> {
  const { address } = await dataOf(cluster, 'instance', ID);
  const [owner, other] = address === 'a:8100' ? ['a', 'b'] : ['b', 'a'];
  await dataOf(cluster, 'drain', owner);
  await serving(cluster, { [owner]: 0, [other]: SHARDS });
  return other;
}

const pair = suite('ctl with two engines');

pair('shows ring, shards and nodes', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const ring = await textOf(cluster, 'ring');
  assert.match(
    ring,
    /^SERVICE +NODE +DUE +OWNS +TO COME +TO GO +SHARDS\nengine +a +4 +4 +0 +0 +[\d,-]+\nengine +b +4 +4 /,
  );
  const shards = await dataOf(cluster, 'shards');
  assert.is(shards.length, SHARDS);
  const shardsOfA = shards.filter(({ node }: { node: string }) => node === 'a');
  assert.is(shardsOfA.length, 4);
  const [{ state, address, epoch, due_at }] = shardsOfA;
  assert.equal([state, address, epoch, due_at], ['served', 'a:8100', 1, 'a']);
  const nodes = await dataOf(cluster, 'nodes');
  const told = nodes.map(({ node, state, owns, serves, agrees }: Record<string, unknown>) => [
    node,
    state,
    owns,
    serves,
    agrees,
  ]);
  assert.equal(told, [
    ['a', 'serving', 4, 4, true],
    ['b', 'serving', 4, 4, true],
  ]);
  assert.match(
    await textOf(cluster, 'nodes'),
    /^engine +a +[0-9a-f]{16} +a:8100 +serving +4 +4 +\S+ +yes /m,
  );
});

pair('shows an instance that is active and one that is not', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  await cluster.ask(ID, CREATE);
  await cluster.ask(ID, process(seen({ mode: 2, signal: 0.7 })));
  const active = await dataOf(cluster, 'instance', ID);
  assert.equal([active.is_active, active.is_served, active.stored], [true, true, undefined]);
  assert.equal(active.memory, { version: 2, generation: 1, cycle: 1 });
  assert.equal(active.last_cycles.length, 1);
  const [{ mode, signal, is_stored }] = active.last_cycles;
  assert.equal([mode, signal, is_stored], ['order', 0.7, false]);
  assert.match(await textOf(cluster, 'instance', ID), /^1 +1 +order +0\.7 +1 +\S+ +not yet$/m);

  const other = await storedByMoving(cluster);
  const idle = await dataOf(cluster, 'instance', ID);
  assert.equal([idle.is_active, idle.address, idle.epoch], [false, `${other}:8100`, 2]);
  assert.equal([idle.stored.version, idle.stored.name, idle.stored.cycle], [2, 'Ada', 1]);
  assert.is(idle.last_cycles[0].is_stored, true);
  assert.match(
    await textOf(cluster, 'instance', ID),
    /^stored +version 2, generation 1, cycle 1$/m,
  );
});

pair('drains a node, says how far it is, and leaves it without shards', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const { code, out } = await ctl(['drain', 'a'], { cluster: cluster.ports });
  assert.is(code, 0);
  assert.match(out, /^(\d shards? left\n)*0 shards left\n/);
  assert.match(out, /^engine +a +[0-9a-f]{16} +a:8100 +0$/m);
  assert.match(out, /takes none until it ends/);
  await serving(cluster, { a: 0, b: SHARDS });
  // Longer than views must agree before shards move back.
  await sleep(4_500);
  const [a, b] = await dataOf(cluster, 'nodes');
  assert.equal([a.node, a.state, a.owns, b.state, b.owns], ['a', 'leaving', 0, 'serving', SHARDS]);
  const again = await dataOf(cluster, 'drain', 'a:8100');
  assert.equal([again.node, again.shards_left], ['a', 0]);
  assert.match(await refusalOf(cluster, 'drain', 'b'), /there is no other node to take its shards/);
  assert.is(cluster.node('b').incarnation?.shards.size, SHARDS);
  assert.match(await refusalOf(cluster, 'drain', 'z'), /no node "z" is heard; heard: a, b/);
  assert.equal(cluster.bugs, []);
});

pair('a drained engine whose life is ended by others does not come back with another', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const { incarnation } = await dataOf(cluster, 'drain', 'a');
  await cluster.stores.journals.seal(incarnation);
  await fenced(cluster, 'a');
  // Longer than the pause before a life that was not drained is followed by another.
  await sleep(2_500);
  assert.is(cluster.node('a').incarnation, undefined);
  assert.is(cluster.node('b').incarnation?.shards.size, SHARDS);
});

pair('verifies an instance, and ends with 1 when its rows were changed', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  await cluster.ask(ID, CREATE);
  const at = (seconds: number) => seen({ timestampMs: Date.now() - 60_000 + seconds * 1_000 });
  await cluster.ask(ID, process(at(0), at(5), at(20)));
  assert.match(await refusalOf(cluster, 'verify', ID), /nothing is stored of inst_/);
  await storedByMoving(cluster);
  const good = await textOf(cluster, 'verify', ID);
  assert.match(good, /^inst_0+aa +2 +1 +3 +same$/m);
  assert.match(good, /3 observations of generation 1 come to the head, bit for bit\./);

  const { instances } = cluster.stores;
  const head = await instances.readHead(ID);
  assert.ok(head);
  const model = head.model.slice();
  model[OFFSET.stress] = 0.25;
  const none = { history: [], drift: [], answers: [] };
  await instances.checkpoint(ID, { head: { ...head, version: 3, model }, ...none });
  const bad = await ctl(['verify', ID], { cluster: cluster.ports });
  assert.is(bad.code, 1);
  assert.match(bad.out, /does not follow from the stored history:\n {2}stress is 0.25; the replay/);
});

const mixed = suite('ctl with engines and limiters');

/** Until limiters serve so many shards each, by name. */
async function limiting(cluster: Cluster, shares: Record<string, number>): Promise<void> {
  const untilMs = performance.now() + SETTLED_MS_MAX;
  const isSo = () =>
    Object.entries(shares).every(
      ([name, share]) => cluster.limiter(name).incarnation?.shards.size === share,
    );
  while (!isSo()) {
    assert.ok(performance.now() < untilMs, 'the accounts are where they should be in time');
    await sleep(50);
  }
}

mixed('shows both, and one of them when asked', async () => {
  await using cluster = await clusterInMemory(['e'], ['l', 'm']);
  await serving(cluster, { e: SHARDS });
  await limiting(cluster, { l: 4, m: 4 });
  const told = (rows: Record<string, unknown>[]) =>
    rows.map(({ service, node, state, owns, agrees }) => [service, node, state, owns, agrees]);
  assert.equal(told(await dataOf(cluster, 'nodes')), [
    ['engine', 'e', 'serving', 8, true],
    ['limiter', 'l', 'serving', 4, true],
    ['limiter', 'm', 'serving', 4, true],
  ]);
  const engines = await dataOf(cluster, 'nodes', '--service', 'engine');
  assert.equal(told(engines), [['engine', 'e', 'serving', 8, true]]);
  const shards: { service: string; state: string }[] = await dataOf(cluster, 'shards');
  assert.equal(
    shards.map(({ service, state }) => `${service} ${state}`),
    [...Array(SHARDS).fill('engine served'), ...Array(SHARDS).fill('limiter served')],
  );
  const limiters = await dataOf(cluster, 'shards', '--service', 'limiter');
  assert.equal(limiters, shards.slice(SHARDS));
  const ring = await textOf(cluster, 'ring');
  assert.match(ring, /^engine +e +8 +8 +0 +0 +0-7\nlimiter +l +4 +4 +0 +0 +[\d,-]+\nlimiter +m /m);
  assert.not.match(await textOf(cluster, 'ring', '--service', 'limiter'), /engine/);
  assert.match(
    await refusalOf(cluster, 'ring', '--service', 'edge'),
    /--service takes engine or limiter, not edge/,
  );
  assert.match(await refusalOf(cluster, 'instance', ID, '--service', 'engine'), /takes no --serv/);
});

mixed('drains a limiter, and asks which when an engine has its name', async () => {
  await using cluster = await clusterInMemory(['a', 'b'], ['a', 'm']);
  await serving(cluster, { a: 4, b: 4 });
  await limiting(cluster, { a: 4, m: 4 });
  assert.match(
    await refusalOf(cluster, 'drain', 'a'),
    /an engine and a limiter are called "a": add --service/,
  );
  const drained = await dataOf(cluster, 'drain', 'a', '--service', 'limiter');
  const { service, node, address, shards_left } = drained;
  assert.equal([service, node, address, shards_left], ['limiter', 'a', 'a:8200', 0]);
  const rows = await cluster.stores.shards.load('limiter', SHARDS);
  assert.not.ok(
    rows.some(({ owner }) => owner === drained.incarnation),
    'it waits for its end',
  );
  await limiting(cluster, { a: 0, m: SHARDS });
  assert.is(cluster.node('a').incarnation?.shards.size, 4, 'its namesake keeps its shards');
  assert.match(await refusalOf(cluster, 'drain', 'm'), /there is no other node to take its shards/);
  assert.equal(cluster.bugs, []);
});

const journals = suite('ctl journal');

journals('shows the head of a journal and the records of its tail, the newest first', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  await cluster.ask(ID, { ...CREATE, name: 'Ada "the\u0007first"' });
  await cluster.ask(ID, process(seen({ mode: 2, signal: 0.7 })));
  const at = (seconds: number) => seen({ timestampMs: Date.now() + seconds * 1_000 });
  await cluster.ask(ID, process(at(2), at(4)));
  await cluster.ask(ID, { kind: 'reset', mode: 'default' });
  const incarnation = cluster.node('a').incarnation?.id ?? '';
  const text = await textOf(cluster, 'journal', incarnation);
  const [, head = '', , , ...lines] = text.split('\n');
  assert.match(head, new RegExp(`^${incarnation} +a:8100 +0 +\\d+ +no +8$`));
  const whats = lines.map((line) => /(\d) +\d{4}-\S+Z +(.*)$/.exec(line)?.slice(1));
  assert.equal(whats, [
    ['4', 'reset to default'],
    ['3', 'observed 2'],
    ['2', 'observed order 0.7, confidence 1'],
    ['1', 'created "Ada \\"the\\u0007first\\"" for Acc0unt00001'],
  ]);
  const data = await dataOf(cluster, 'journal', incarnation, '--last', '1');
  assert.equal([data.address, data.is_sealed, data.records.length], ['a:8100', false, 1]);
  assert.equal(data.records[0].event.slice(3), ['reset', 'default']);
});

journals('names what is corrupt instead of stopping at it', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  const { journals: store } = cluster.stores;
  await store.begin('old', 'old:8100');
  const append = { incarnation: 'old', lowWaterMark: undefined };
  await store.append({ ...append, slot: 0, records: Buffer.from('{"no":"group"}') });
  await store.append({ ...append, slot: 1, records: groupOf([]) });
  const record = { actor: 'instance', actorId: ID, callId: 5, atMs: 0, event: {} };
  const group = [1, 2].map((version) => ({ ...record, version }));
  await store.append({ ...append, slot: 2, records: groupOf(group) });
  const halfBroken = Buffer.from(`${Buffer.from(groupOf(group))}`.replace(',2,5,0,{}]', ',2,5,'));
  await store.append({ ...append, slot: 3, records: halfBroken });
  await store.seal('old');
  const text = await textOf(cluster, 'journal', 'old');
  assert.match(text, /^old +old:8100 +0 +4 +yes +0$/m);
  assert.match(text, /^3 +- +- +- +- +corrupt: not JSON\n3 +instance +inst_0+aa +1 /m);
  assert.match(
    text,
    /^2 +instance +inst_0+aa +2 .*\n2 +instance +inst_0+aa +1 +1970-\S+ +the journal/m,
  );
  assert.match(text, /^0 +- +- +- +- +corrupt: not a group of a known format$/m);
});

journals('tells what became of a meter, and counts the shards of a limiter', async () => {
  await using cluster = await clusterInMemory([]);
  const { journals: store, shards } = cluster.stores;
  await store.begin('lim', 'lim:8200');
  const meter: MeterRecord = {
    ...{ monthEndsAtMs: Date.UTC(2026, 1, 1), monthWatermark: 52, cyclesUsed: 40, cyclesLost: 10 },
    ...{ cyclesExpired: 3, windowEndsAtMs: 0, windowWatermark: 14, reservations: [] },
  };
  const record = { actor: 'meter', actorId: 'Acc0unt00001', version: 7, callId: 0, atMs: 0 };
  const group = [meter, [1, 2]].map((each) => {
    const event = Array.isArray(each) ? each : rowOfMeter(each);
    return { ...record, event };
  });
  const slot = { incarnation: 'lim', lowWaterMark: undefined, slot: 0 };
  await store.append({ ...slot, records: groupOf(group) });
  await shards.change({ service: 'limiter', shard: 3, from: undefined, owner: 'lim' });
  const text = await textOf(cluster, 'journal', 'lim');
  assert.match(text, /^lim +lim:8200 +0 +1 +no +1$/m);
  assert.match(
    text,
    /Z +marks: 52 cycles, 14 requests; 40 used \(3 expired, 10 lost\), 0 reserved$/m,
  );
  assert.match(text, /^0 +meter +Acc0unt00001 +7 .*Z +.*the row has 2 numbers/m);
});

journals('says what is wrong with its arguments', async () => {
  await using cluster = await clusterInMemory(['a']);
  assert.match(await refusalOf(cluster, 'journal', 'nobody'), /no journal of nobody; "ctl nodes"/);
  assert.match(await refusalOf(cluster, 'journal', 'x', '--last', 'some'), /--last takes a number/);
});

const alone = suite('ctl with a cluster that cannot be seen');

alone('says that there never was one', async () => {
  await using cluster = await clusterInMemory([]);
  for (const argv of [['ring'], ['shards'], ['nodes'], ['drain', 'a']]) {
    assert.match(await refusalOf(cluster, ...argv), /no engine or limiter has ever owned a shard/);
  }
  assert.match(await refusalOf(cluster, 'instance', ID), /no engine has ever owned a shard/);
  const limiters = await refusalOf(cluster, 'nodes', '--service', 'limiter');
  assert.match(limiters, /no limiter has ever owned a shard/);
});

alone('shows owners that are not heard, and whose journal is sealed', async () => {
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
  const nodes = await textOf(cluster, 'nodes');
  assert.match(nodes, /^engine +- +dead +dead:8100 +sealed +- +1 +- +- +-$/m);
  assert.match(nodes, /^engine +- +mute +mute:8100 +not heard +- +1 /m);
  assert.match(
    nodes,
    /No engine was heard: set SERVICE_NATS_URL, SERVICE_NATS_PREFIX and SERVICE_CLUSTER_SECRET/,
  );
  assert.match(await textOf(cluster, 'shards'), /^engine +0 +not heard +- +- +dead +1 +-$/m);
  assert.match(await textOf(cluster, 'ring'), /^engine +dead +0 +1 +0 +0 +0$/m);
  assert.match(await refusalOf(cluster, 'instance', ID), /its engine does not answer/);
});

pair.run();
mixed.run();
journals.run();
alone.run();
