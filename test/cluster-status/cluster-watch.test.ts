import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ClusterReport, ServiceReport } from '#cluster-status/report';
import { aloneReporter, ClusterWatch, type WatchPorts } from '#cluster-status/watch';
import { sleep, systemClock } from '#stdlib/clock';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import { serving } from '#test/ctl/ctl-on-cluster';
import { CREATE } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';

type Cluster = Awaited<ReturnType<typeof clusterInMemory>>;
type OfCluster = Extract<ClusterReport, { kind: 'cluster' }>;

/** A watch of a cluster in this process. `change` replaces ports. */
function watchOf(cluster: Cluster, change: Partial<WatchPorts> = {}) {
  const { shards, journals } = cluster.stores;
  return new ClusterWatch({
    ...{ clock: systemClock, prefix: 'test', bus: cluster.bus, shards, journals, release: '1.1.0' },
    readLoad: (service, address) => {
      const name = address.split(':')[0] ?? '';
      return (service === 'engine' ? cluster.node(name) : cluster.limiter(name)).readLoad();
    },
    ...change,
  });
}

async function reportOf(watch: ClusterWatch): Promise<OfCluster> {
  const report = await watch.report();
  assert.is(report.kind, 'cluster');
  return report as OfCluster;
}

function engineIn({ engine }: OfCluster): ServiceReport {
  assert.ok('value' in engine, JSON.stringify(engine));
  return engine.value;
}

/** Requests a report once a second, like the page, until `isSo` holds. */
async function until(watch: ClusterWatch, isSo: (report: OfCluster) => boolean) {
  for (let attempts = 0; attempts < 20; attempts += 1) {
    const report = await reportOf(watch);
    if (isSo(report)) return report;
    await sleep(systemClock, 1_000);
  }
  throw new Error(JSON.stringify(await reportOf(watch)));
}

const well = suite('a healthy cluster');

well('is reported completely: nodes, owners, shares, journals and loads', async () => {
  await using cluster = await clusterInMemory(['a', 'b'], ['l']);
  await serving(cluster, { a: SHARDS / 2, b: SHARDS / 2 });
  await cluster.ask('1nstance0001', CREATE);
  using watch = watchOf(cluster);
  const report = await until(
    watch,
    (one) => 'value' in one.limiter && engineIn(one).move_count === 0,
  );
  const engine = engineIn(report);
  const seen = engine.nodes.map(({ node, state, agrees, owns, due, serves }) => {
    return [node, state, agrees, owns, due, serves];
  });
  const half = SHARDS / 2;
  assert.equal(seen, [
    ['a', 'serving', true, half, half, half],
    ['b', 'serving', true, half, half, half],
  ]);
  assert.is(engine.shard_count, SHARDS);
  assert.equal(engine.owners.toSorted(), [...Array(half).fill(0), ...Array(half).fill(1)]);
  assert.equal(engine.unserved, { unowned: 0, 'not heard': 0, moving: 0 });
  assert.equal([engine.table_fault, engine.unserved_shards, engine.moves], [null, [], []]);
  const loads = engine.nodes.map(({ load }) =>
    'value' in load ? load.value.actors : load.not_known,
  );
  assert.is(Number(loads[0]) + Number(loads[1]), 3, 'an instance, a directory and a feed');
  for (const { journal } of engine.nodes) assert.ok('value' in journal && journal.value.next > 0);
  assert.ok('value' in report.limiter);
  assert.equal(
    report.limiter.value.nodes.map(({ node, owns }) => [node, owns]),
    [['l', SHARDS]],
  );
  assert.equal([report.release, report.is_bus_connected], ['1.1.0', true]);
});

well('has call rates per node from the second report on', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  using watch = watchOf(cluster);
  const rate = (report: OfCluster) => {
    const load = engineIn(report).nodes[0]?.load;
    return load !== undefined && 'value' in load ? load.value.calls_per_s : undefined;
  };
  assert.is(rate(await reportOf(watch)), null);
  await sleep(systemClock, 1_000);
  for (let call = 0; call < 50; call += 1) await cluster.ask(`1nstance00${10 + call}`, CREATE);
  const found = rate(await reportOf(watch)) ?? 0;
  // Each creation also calls the directory, to reserve an entry and to write a row.
  assert.ok(found > 10 && found < 400, `${found}`);
});

const many = suite('many concurrent readers');

many('cause at most one query per service and second', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  let reads = 0;
  const shards: WatchPorts['shards'] = {
    ...cluster.stores.shards,
    load: async (service, count) => {
      reads += 1;
      return await cluster.stores.shards.load(service, count);
    },
  };
  using watch = watchOf(cluster, { shards });
  const reports = await Promise.all(Array.from({ length: 100 }, () => watch.report()));
  assert.is(new Set(reports).size, 1);
  assert.is(reads, 2, 'one table per service');
  await Promise.all(Array.from({ length: 100 }, () => watch.report()));
  assert.ok(reads <= 4, `${reads}`);
});

const broken = suite('a cluster with faults');

broken('is shown with an owner that sends no heartbeats, and with its shards', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: SHARDS / 2, b: SHARDS / 2 });
  using watch = watchOf(cluster);
  await until(watch, (one) => engineIn(one).nodes.length === 2 && engineIn(one).move_count === 0);
  const dead = cluster.node('b').incarnation?.id ?? '';
  const rows = await cluster.stores.shards.load('engine', SHARDS);
  const lost = rows.filter(({ owner }) => owner === dead).length;
  assert.ok(lost > 0);
  // This owner sends no heartbeats. Only the table of shards names it.
  const free = rows.find(({ owner }) => owner !== dead);
  const stray = {
    service: 'engine',
    shard: free?.shard ?? 0,
    from: free,
    owner: 'stray',
  } as const;
  await cluster.stores.journals.begin('stray', 'gone:8100');
  await cluster.stores.shards.change(stray);
  const report = await until(watch, (one) => engineIn(one).unserved['not heard'] === 1);
  const engine = engineIn(report);
  const node = engine.nodes.find(({ incarnation }) => incarnation === 'stray');
  assert.equal(
    [node?.state, node?.owns, node?.address, node?.silent_s],
    ['not heard', 1, 'gone:8100', null],
  );
  assert.equal(node?.load, { not_known: 'it is not heard' });
  const [shard] = engine.unserved_shards;
  assert.equal([shard?.shard, shard?.state], [free?.shard, 'not heard']);
  assert.is(engine.nodes[shard?.owner ?? -1]?.incarnation, 'stray');
});

broken('shows shards that are moving, from which node, and since when', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  using watch = watchOf(cluster);
  await reportOf(watch);
  await cluster.joinEngine('b');
  const report = await until(watch, (one) => engineIn(one).move_count > 0);
  const { moves, nodes } = engineIn(report);
  const [move] = moves;
  const name = (place: number | null | undefined) => nodes[place ?? -1]?.node;
  assert.equal([name(move?.from), name(move?.to)], ['a', 'b']);
  const after = await until(watch, (one) => engineIn(one).move_count === 0);
  assert.equal(
    engineIn(after).nodes.map(({ owns }) => owns),
    [SHARDS / 2, SHARDS / 2],
  );
});

broken('is shown from the last known table while the store gives no answer', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  let isAway = false;
  const { shards, journals } = cluster.stores;
  const away = () => new Promise<never>(() => undefined);
  using watch = watchOf(cluster, {
    shards: { ...shards, load: (...asked) => (isAway ? away() : shards.load(...asked)) },
    journals: { readHead: (...asked) => (isAway ? away() : journals.readHead(...asked)) },
  });
  await reportOf(watch);
  isAway = true;
  await sleep(systemClock, 1_000);
  const beganMs = performance.now();
  const engine = engineIn(await reportOf(watch));
  assert.ok(performance.now() - beganMs < 2_500, 'each part has its own deadline');
  assert.match(engine.table_fault ?? '', /^the store gave no answer in 800 ms$/);
  assert.ok(engine.table_age_s > 1);
  assert.equal(
    engine.nodes.map(({ node, owns }) => [node, owns]),
    [['a', SHARDS]],
  );
  assert.equal(engine.nodes[0]?.journal, { not_known: 'the store gave no answer in 800 ms' });
  assert.ok('value' in (engine.nodes[0]?.load ?? {}), 'the node itself answers');
});

broken(
  'is shown without the load of a node that fails to report it, and without the error text',
  async () => {
    await using cluster = await clusterInMemory(['a']);
    await serving(cluster, { a: SHARDS });
    const readLoad = () => Promise.reject(new Error('a bug with a secret in it'));
    using watch = watchOf(cluster, { readLoad });
    const { nodes } = engineIn(await reportOf(watch));
    assert.equal(nodes[0]?.load, { not_known: 'a failed' });
  },
);

broken('is reported as absent if no engine has ever owned a shard', async () => {
  await using cluster = await clusterInMemory([]);
  using watch = watchOf(cluster);
  const { engine } = await reportOf(watch);
  assert.equal(engine, { not_known: 'no engine has ever owned a shard in this keyspace' });
});

const unwatched = suite('a cluster without readers');

unwatched('is not observed any more after ten seconds', async () => {
  await using cluster = await clusterInMemory(['a']);
  await serving(cluster, { a: SHARDS });
  let listeners = 0;
  const bus: WatchPorts['bus'] = {
    isConnected: true,
    publish: () => undefined,
    subscribe: (subject, listener) => {
      listeners += 1;
      const heard = cluster.bus.subscribe(subject, listener);
      return {
        [Symbol.dispose]: () => {
          listeners -= 1;
          heard[Symbol.dispose]();
        },
      };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  using watch = watchOf(cluster, { bus });
  await reportOf(watch);
  assert.is(listeners, 1, 'only heartbeats are received, for the only service');
  await sleep(systemClock, 10_500);
  assert.is(listeners, 0);
  assert.is(
    engineIn(await reportOf(watch)).nodes.length,
    1,
    'watching starts again when a reader returns',
  );
});

const alone = suite('a single process with stores in memory');

alone('is reported as no cluster, with its load', async () => {
  const clock = new ManualClock();
  let calls = 10;
  const load = () => ({
    ...{ actors: 3, actorBytes: 4_096, unstoredRecords: 2, oldestUnstoredMs: 1_500 },
    calls,
  });
  using reporter = aloneReporter(clock, '1.1.0', { engine: undefined, limiter: load });
  const first = await reporter.report();
  const expected = { actors: 3, actor_bytes: 4_096, unstored_records: 2, oldest_unstored_s: 1.5 };
  assert.equal(first, {
    kind: 'alone',
    at: new Date(clock.wallMs()).toISOString(),
    release: '1.1.0',
    engine: null,
    limiter: { ...expected, calls_per_s: null },
  });
  clock.advance(2_000);
  calls = 30;
  const second = await reporter.report();
  assert.equal(second.kind === 'alone' && second.limiter, { ...expected, calls_per_s: 10 });
});

for (const each of [well, many, broken, unwatched, alone]) each.run();
