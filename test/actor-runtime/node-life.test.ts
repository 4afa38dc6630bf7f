import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { REJOIN_MS_MIN, REJOIN_RESET_MS } from '#shards/journal-bounds';
import { TallyCluster } from '#test/shards/node-fixture';
import { refusalOf, stateOf } from '#test/support/settled';

const STEADY_MS = 4_000;

async function nodeOf(cluster: TallyCluster, name = 'a') {
  const node = await cluster.join(name);
  await cluster.live(STEADY_MS);
  return node;
}

const idOf = (node: Awaited<ReturnType<TallyCluster['join']>>) => node.current?.id;

const between = suite('a node between two incarnations');

between('reports that it has no incarnation', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  const before = node.present;
  await cluster.stored.seal('life-1');
  while (node.current !== undefined) await cluster.live(50);
  const refusal = (await refusalOf(() => node.present)) as Fault;
  assert.equal(
    [refusal.code, refusal.reason, refusal.retryAfterS],
    ['service_unavailable', 'engine_unavailable', 1],
  );
  await cluster.live(REJOIN_MS_MIN + STEADY_MS);
  assert.is(node.present.id, 'life-2');
  assert.is.not(node.present, before);
});

between('has closed all its services', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  await cluster.add(node, 'x');
  const { served } = node.present;
  assert.is(served.residency.actors, 1);
  await cluster.stored.seal('life-1');
  while (node.current !== undefined) await cluster.live(50);
  assert.equal([served.residency.actors, cluster.servicesEnded], [0, 1]);
});

between(
  'has counted the end of the incarnation, and notifies its operator when it rejoins',
  async () => {
    const cluster = new TallyCluster();
    const node = await nodeOf(cluster);
    await cluster.stored.seal('life-1');
    while (node.current !== undefined) await cluster.live(50);
    const fenced = await cluster.reported('a', /^journal_fenced/);
    assert.equal(fenced, { 'journal_fenced_total{service="engine"}': 1 });
    assert.match(
      cluster.notices.at(-1) ?? '',
      /rejoins after a pause why=.*the journal is sealed.* pauseMs=1000$/,
    );
  },
);

between('reports a bug and has no incarnation if another node began its next journal', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  await cluster.stored.begin('life-2', 'x:1');
  await cluster.stored.seal('life-1');
  while (node.current !== undefined) await cluster.live(50);
  await cluster.live(REJOIN_MS_MIN + 1_000);
  assert.is(node.current, undefined);
  assert.match(String(cluster.bugs), /the journal of life-2 already exists/);
});

between('ends on request, and does not rejoin', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  await cluster.stored.seal('life-1');
  while (node.current !== undefined) await cluster.live(50);
  assert.equal(await stateOf(node[Symbol.asyncDispose]()), { value: undefined });
  await cluster.live(10 * REJOIN_MS_MIN);
  assert.is(node.current, undefined);
  assert.is(await cluster.stored.readHead('life-2', 'serial'), undefined);
});

between('begins no journal after it was requested to end', async () => {
  const cluster = new TallyCluster();
  let begins = 0;
  let isSilent = false;
  cluster.journals = {
    ...cluster.stored,
    begin: async (...names) => {
      begins += 1;
      if (isSilent) throw new Fault('service_unavailable', 'no answer');
      return await cluster.stored.begin(...names);
    },
  };
  const node = await nodeOf(cluster);
  isSilent = true;
  await cluster.stored.seal('life-1');
  await cluster.live(REJOIN_MS_MIN + STEADY_MS);
  assert.ok(begins > 3, 'the node retries until the store answers');
  const heard = cluster.heartbeats.length;
  await node[Symbol.asyncDispose]();
  await cluster.live(1_000);
  const asked = begins;
  await cluster.live(10_000);
  assert.equal([begins, cluster.heartbeats.length], [asked, heard]);
  assert.is(node.current, undefined);
  assert.equal(cluster.bugs, []);
});

between('waits the minimum pause again after a long incarnation', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  for (const life of ['life-1', 'life-2']) {
    await cluster.stored.seal(life);
    while (node.current !== undefined) await cluster.live(50);
    while (node.current === undefined) await cluster.live(50);
  }
  await cluster.live(REJOIN_RESET_MS + 1_000);
  await cluster.stored.seal('life-3');
  while (node.current !== undefined) await cluster.live(50);
  await cluster.live(REJOIN_MS_MIN + 100);
  assert.is(idOf(node), 'life-4');
});

between(
  'waits longer after each short incarnation, whatever the uptime of its process',
  async () => {
    const cluster = new TallyCluster();
    const node = await nodeOf(cluster);
    await cluster.live(REJOIN_RESET_MS + 1_000);
    for (const [i, pauseMs] of [REJOIN_MS_MIN, 2 * REJOIN_MS_MIN, 4 * REJOIN_MS_MIN].entries()) {
      await cluster.stored.seal(`life-${i + 1}`);
      while (node.current !== undefined) await cluster.live(50);
      await cluster.live(pauseMs - 100);
      assert.is(idOf(node), undefined);
      while (node.current === undefined) await cluster.live(50);
    }
  },
);

const drained = suite('a node that is drained');

drained('refuses the drain if there is no other node, and keeps its shards', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  assert.is(((await refusalOf(() => node.drain())) as Fault).code, 'conflict');
  await cluster.live(10_000);
  assert.is(node.present.shards.size, 8);
  assert.is((await cluster.add(node, 'x')).sum, 1);
});

drained('counts its shards, gives them to the other nodes, and claims none again', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  for (const id of ['x', 'y', 'z']) await cluster.add(node, id);
  const other = await nodeOf(cluster, 'b');
  await cluster.live(10_000);
  const had = node.present.shards.size;
  assert.equal(node.drain(), { incarnation: 'life-1', openShards: had });
  await cluster.live(10_000);
  assert.equal([node.present.shards.size, other.present.shards.size], [0, 8]);
  assert.equal(
    node.drain(),
    { incarnation: 'life-1', openShards: 0 },
    'a repeated drain is not an error',
  );
  for (const id of ['x', 'y', 'z']) assert.is((await cluster.add(other, id)).sum, 2);
  await cluster.live(10_000);
  assert.is(node.present.shards.size, 0);
  assert.equal(cluster.bugs, []);
});

drained('does not rejoin when other nodes then end its incarnation', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  await nodeOf(cluster, 'b');
  node.drain();
  await cluster.live(10_000);
  await cluster.stored.seal('life-1');
  await cluster.live(20_000);
  assert.is(node.current, undefined);
  assert.not.ok(cluster.notices.some((notice) => notice.includes('rejoins')));
});

const other = suite('a call for a shard that another node owns');

other('is refused with the address of the owner', async () => {
  const cluster = new TallyCluster();
  const node = await nodeOf(cluster);
  await nodeOf(cluster, 'b');
  await cluster.live(10_000);
  const ids = Array.from({ length: 40 }, (_, i) => `t${i}`);
  const owners: (string | undefined)[] = [];
  for (const id of ids) {
    try {
      await cluster.add(node, id);
    } catch (error) {
      owners.push((error as Fault).owner?.address);
    }
  }
  assert.ok(owners.length > 5);
  assert.equal(new Set(owners), new Set(['b:1']));
});

for (const group of [between, drained, other]) group.run();
