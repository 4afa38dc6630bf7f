import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { signedBus } from '#bus/signed-bus';
import { LEAVE_SPREAD_MS } from '#cluster/failover-timing';
import { encodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { shardOf } from '#cluster/shard-owners';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { TallyCluster, type TallyNode } from '#test/shards/node-fixture';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf } from '#test/support/settled';
import { SILENT } from '#test/support/test-logger';

const STEADY_MS = 4_000;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const IDS = Array.from({ length: 20 }, (_, i) => `t${i}`);

/** Two nodes that share the shards. */
async function pair() {
  const cluster = new TallyCluster();
  const first = await cluster.join('a');
  await cluster.live(STEADY_MS);
  const second = await cluster.join('b');
  await cluster.live(10_000);
  assert.ok(first.present.shards.size > 0 && second.present.shards.size > 0);
  return { cluster, first, second };
}

/** The owner that a node names when it refuses a call. */
async function ownerAt(cluster: TallyCluster, node: TallyNode, id: string) {
  const refused = await cluster.add(node, id).catch((refusal: Fault) => refusal);
  return refused instanceof Fault ? refused.owner?.address : node.present.id;
}

const dead = suite('when a node dies');

dead('another node notifies its operator, and counts the shards that it took over', async () => {
  const { cluster, first, second } = await pair();
  const { id, shards } = first.present;
  const tallies = IDS.filter((tally) => shards.has(shardOf(tally, 8)));
  for (const tally of tallies) await cluster.add(first, tally);
  cluster.kill('a');
  await cluster.live(5_000);
  assert.is(second.present.shards.size, 8);
  for (const tally of tallies) assert.is((await cluster.add(second, tally)).sum, 2);
  const reported = await cluster.reported('b', /^(recovered|shard_seals|recovery_seconds_count)/);
  assert.equal(reported, {
    'recovered_records_total{service="engine"}': tallies.length,
    'shard_seals_total{service="engine",reason="dead"}': 1,
    'recovery_seconds_count{service="engine"}': shards.size,
  });
  assert.equal(cluster.notices, [
    `the journal of a failed node is sealed otherNode=a otherIncarnation=${id} reason=dead`,
    `take-over: records are copied fromNode=a fromIncarnation=${id} records=${tallies.length}`,
    `take-over: finished, the shards are served here fromNode=a fromIncarnation=${id} shards=${shards.size} seconds=0`,
  ]);
  assert.equal(cluster.bugs, []);
});

const slow = suite('when a journal accepts no append for 20 s');

/** A pair of nodes whose appends hang from now on, for one or both incarnations. */
async function hung(incarnations: readonly string[]) {
  const cluster = new TallyCluster();
  const hangs = new Set<string>();
  cluster.journals = {
    ...cluster.stored,
    append: (append) =>
      hangs.has(append.incarnation) ? new Promise(() => undefined) : cluster.stored.append(append),
  };
  await cluster.join('a');
  await cluster.live(STEADY_MS);
  await cluster.join('b');
  await cluster.live(10_000);
  for (const incarnation of incarnations) hangs.add(incarnation);
  await cluster.live(20_000);
  return cluster;
}

slow(
  'the node of the journal loses its shards to another node, which reports the reason',
  async () => {
    const cluster = await hung(['life-1']);
    const seals = await cluster.reported('b', /^shard_seals/);
    assert.equal(seals, { 'shard_seals_total{service="engine",reason="stalled"}': 1 });
    const sealed = cluster.notices.find((notice) => notice.includes('is sealed'));
    assert.match(sealed ?? '', /otherIncarnation=life-1 reason=stalled/);
  },
);

slow('no node seals another node if appends hang at all nodes: the store is slow', async () => {
  const cluster = await hung(['life-1', 'life-2']);
  for (const life of ['life-1', 'life-2']) {
    assert.not.ok((await cluster.stored.readHead(life, 'serial'))?.isSealed);
  }
});

const come = suite('a node that joins');

come('sends its first heartbeat immediately', async () => {
  const cluster = new TallyCluster();
  const node = await cluster.join('a');
  await cluster.live(50);
  assert.equal(
    cluster.heartbeats.map(({ incarnation }) => incarnation),
    [node.present.id],
  );
});

come(
  'learns the owners of shards that never moved, even if it joins later than the others',
  async () => {
    const { cluster, first, second } = await pair();
    for (const id of IDS) {
      const isFirsts = first.present.shards.has(shardOf(id, 8));
      assert.is(await ownerAt(cluster, second, id), isFirsts ? 'a:1' : second.present.id);
    }
  },
);

come('claims no shard while its clock puts it aside', async () => {
  const cluster = new TallyCluster();
  const clocks = { isAside: true, verdict: 'deviating' } as const;
  const aside = await cluster.join('a', { clocks });
  const other = await cluster.join('b');
  await cluster.live(10_000);
  assert.equal([aside.present.shards.size, other.present.shards.size], [0, 8]);
});

come('is ignored on the bus of another cluster, and an operator is notified', async () => {
  const cluster = new TallyCluster();
  const node = await cluster.join('a');
  await cluster.live(STEADY_MS);
  await cluster.join('b', { cluster: 'another', startupGraceMs: 60_000 });
  await cluster.live(10_000);
  assert.is(node.present.shards.size, 8);
  const reported = cluster.notices.filter((notice) =>
    notice.endsWith('for one of them cluster=another'),
  );
  assert.is(reported.length, 1);
});

come(
  'is ignored if it uses the incarnation of another node, and an operator is notified',
  async () => {
    const cluster = new TallyCluster();
    const open = (incarnation: string) =>
      signedBus({
        ...{
          bus: cluster.bus,
          clock: cluster.clock,
          cluster: 'c',
          secrets: unchanging(['a secret']),
        },
        ...{ onDropped: () => undefined, logger: SILENT },
        ...{ incarnation: incarnation.repeat(32), onBug: (bug) => cluster.bugs.push(bug) },
      });
    const node = await cluster.join('a', { bus: open('a') });
    await cluster.live(STEADY_MS);
    const forged = encodeHeartbeat({
      ...{ cluster: 'c', service: 'engine', node: 'a', address: 'a:1', incarnation: 'life-1' },
      ...{ startedAtMs: 0, isLeaving: true, viewHash: '', shards: [], shardCount: 8 },
    });
    open('b').publish(heartbeatSubject('test', 'engine'), forged);
    await cluster.live(STEADY_MS);
    assert.is(node.present.shards.size, 8);
    assert.ok(
      cluster.notices.some((notice) => notice.includes('otherIncarnation=life-1 otherNode=a')),
    );
  },
);

const stray = suite('an abandoned journal without shards');

stray('is sealed an hour and a minute after a node has joined', async () => {
  const cluster = new TallyCluster();
  const { clock } = cluster;
  await cluster.stored.begin('stray', 'x:1');
  // Heartbeats of hours would take seconds, so waits of hours take a hundredth of their time.
  const hurried: Clock = {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, task) =>
      clock.after(delayMs < HOUR_MS ? delayMs : Math.ceil(delayMs / 100), task),
  };
  const node = await cluster.join('a', { clock: hurried });
  const isSealed = async () => (await cluster.stored.readHead('stray', 'serial'))?.isSealed;
  await pass(clock, MINUTE_MS + (0.9 * HOUR_MS) / 100, 1_000);
  assert.is(await isSealed(), false);
  await pass(clock, (0.2 * HOUR_MS) / 100, 1_000);
  assert.is(await isSealed(), true);
  assert.is(node.present.id, 'life-1', 'its own journal is not idle');
});

const drained = suite('a node that is drained while others are present');

drained('announces immediately that it leaves', async () => {
  const { cluster, first } = await pair();
  first.drain();
  await cluster.live(50);
  const [said] = cluster.heartbeats.slice(-1);
  assert.equal([said?.incarnation, said?.isLeaving], [first.present.id, true]);
});

drained('gives all shards to the other nodes, and receives no shard again', async () => {
  const { cluster, first, second } = await pair();
  first.drain();
  await cluster.live(LEAVE_SPREAD_MS + 500);
  assert.equal([first.present.shards.size, second.present.shards.size], [0, 8]);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await cluster.live(1_000);
    assert.is(first.present.shards.size, 0);
  }
});

drained('may be drained again when the other nodes have left', async () => {
  const { cluster, first } = await pair();
  first.drain();
  await cluster.live(10_000);
  cluster.kill('b');
  await cluster.live(10_000);
  assert.equal(first.drain(), { incarnation: 'life-1', openShards: 0 });
});

const left = suite('a node that has left');

left('has announced that it leaves, immediately and in its last heartbeat', async () => {
  const { cluster, first } = await pair();
  const { id } = first.present;
  const gone = first[Symbol.asyncDispose]();
  await cluster.live(50);
  assert.is(cluster.heartbeats.at(-1)?.isLeaving, true);
  await cluster.live(5_000);
  assert.equal(await stateOf(gone), { value: undefined });
  const last = cluster.heartbeats.findLast(({ incarnation }) => incarnation === id);
  assert.equal([last?.isLeaving, last?.shards], [true, []]);
});

left('is silent, has released its shards, and answers no call', async () => {
  const { cluster, first } = await pair();
  const { id, served } = first.present;
  await cluster.add(first, IDS[0] ?? '').catch(() => undefined);
  const gone = first[Symbol.asyncDispose]();
  await cluster.live(5_000);
  await gone;
  const said = () => cluster.heartbeats.filter(({ incarnation }) => incarnation === id).length;
  const before = said();
  await cluster.live(5_000);
  assert.is(said(), before);
  assert.equal([served.residency.actors, cluster.servicesEnded], [0, 1]);
  const refusal = (await refusalOf(() => first.present)) as Fault;
  assert.is(refusal.code, 'service_unavailable');
});

left('has ended even if the store does not accept the seal of its journal', async () => {
  const cluster = new TallyCluster();
  cluster.journals = {
    ...cluster.stored,
    seal: () => Promise.reject(new Fault('service_unavailable', 'no answer')),
  };
  const node = await cluster.join('a');
  await cluster.live(STEADY_MS);
  const gone = node[Symbol.asyncDispose]();
  await cluster.live(5_000);
  assert.equal(await stateOf(gone), { value: undefined });
  assert.equal([node.current, cluster.servicesEnded], [undefined, 1]);
});

for (const group of [dead, slow, come, stray, drained, left]) group.run();
