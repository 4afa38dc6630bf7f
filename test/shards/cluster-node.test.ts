import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEAVE_SPREAD_MS } from '#cluster/failover-timing';
import { Fault } from '#errors/fault';
import { APPEND_RETRY_MS, JOURNAL_BEAT_MS, REJOIN_MS_MIN } from '#shards/journal-bounds';
import { TallyCluster } from '#test/shards/node-fixture';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const silence = (): never => {
  throw new Fault('service_unavailable', 'no answer', { isOutcomeUnknown: true });
};

const idOf = (node: Awaited<ReturnType<TallyCluster['join']>>) => node.current?.id;

const features = suite('a feature of nodes');

features(
  'counts as present on every node ten minutes after the last heartbeat without it',
  async () => {
    const cluster = new TallyCluster();
    await cluster.join('a', { features: ['model 1.1'] });
    const isEverywhere = () => cluster.contexts.get('a:1')?.isEverywhere('model 1.1');
    assert.is(isEverywhere(), true);
    await cluster.join('b', { features: ['model 1.1', 'another'] });
    await cluster.join('c');
    await cluster.live(2_000);
    assert.is(isEverywhere(), false);
    // A crashed node may come back with its old release.
    cluster.kill('c');
    await cluster.live(598_000);
    assert.is(isEverywhere(), false);
    await cluster.live(4_000);
    assert.is(isEverywhere(), true);
  },
);

const birth = suite('the journal of a node’s incarnation');

birth('has begun before the node has joined', async () => {
  const cluster = new TallyCluster();
  const { promise, resolve } = Promise.withResolvers<void>();
  cluster.journals = {
    ...cluster.stored,
    begin: async (...names) => {
      await promise;
      return await cluster.stored.begin(...names);
    },
  };
  const joined = cluster.join('a');
  await cluster.live(3_000);
  assert.is(await stateOf(joined), 'pending');
  resolve();
  const node = await joined;
  assert.is((await cluster.stored.readHead('life-1', 'serial'))?.address, 'a:1');
  assert.is(node.current?.id, 'life-1');
});

birth(
  'is begun again until the store answers, even if an earlier attempt took effect',
  async () => {
    const cluster = new TallyCluster();
    let attempts = 0;
    cluster.journals = {
      ...cluster.stored,
      begin: async (...names) => {
        attempts += 1;
        if (attempts === 2) await cluster.stored.begin(...names);
        return attempts < 3 ? silence() : await cluster.stored.begin(...names);
      },
    };
    const joined = cluster.join('a');
    await cluster.live(APPEND_RETRY_MS * 2);
    assert.is((await joined).current?.id, 'life-1');
    assert.is(attempts, 3);
  },
);

birth('cannot have the id of an existing journal', async () => {
  const cluster = new TallyCluster();
  await cluster.stored.begin('life-1', 'x:1');
  assert.match((await refusalOf(() => cluster.join('a'))).message, /already exists/);
});

birth('grows every second, even without records', async () => {
  const cluster = new TallyCluster();
  await cluster.join('a');
  await cluster.live(2_000);
  for (let i = 0; i < 5; i += 1) {
    const before = (await cluster.stored.readHead('life-1', 'serial'))?.next ?? 0;
    await cluster.live(JOURNAL_BEAT_MS.engine);
    const after = (await cluster.stored.readHead('life-1', 'serial'))?.next ?? 0;
    assert.ok(after - before === 1 || after - before === 2, `${after - before} slots in a second`);
  }
});

/** A cluster of one node, whose tally `x` has a value. */
async function tallied() {
  const cluster = new TallyCluster();
  const node = await cluster.join('a');
  await cluster.live(3_000);
  await cluster.add(node, 'x');
  return { cluster, node };
}

const sealed = suite('a node whose journal has been sealed');

sealed('fails deferred answers with unknown outcome and serves no more shards', async () => {
  const { cluster, node } = await tallied();
  await cluster.stored.seal('life-1');
  const { current } = node;
  const refusal = (await refusalOf(() => cluster.add(node, 'x'))) as Fault;
  assert.equal([refusal.code, refusal.isOutcomeUnknown], ['service_unavailable', true]);
  await turnOfEvents();
  assert.is(current?.shards.size, 0);
  assert.is(node.current, undefined);
});

const lost = suite('a node whose shards belong to another owner in the shard table');
lost('fails deferred answers, even if an append hangs', async () => {
  const cluster = new TallyCluster();
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  cluster.journals = {
    ...cluster.stored,
    append: async (append) => {
      if (isHeld) await promise;
      return await cluster.stored.append(append);
    },
  };
  const node = await cluster.join('a');
  await cluster.live(3_000);
  await cluster.add(node, 'x');
  isHeld = true;
  const held = refusalOf(() => cluster.add(node, 'x'));
  for (const from of await cluster.shards.load('engine', 8)) {
    await cluster.shards.change({ service: 'engine', shard: from.shard, from, owner: 'thief' });
  }
  await cluster.live(1_500);
  assert.equal(await stateOf(held.then(({ message }) => message)), {
    value: 'this node has stopped committing',
  });
  resolve();
});

sealed('rejoins after 1, 2, 4 s, as another incarnation', async () => {
  const cluster = new TallyCluster();
  const node = await cluster.join('a');
  await cluster.live(3_000);
  for (const [i, pauseMs] of [REJOIN_MS_MIN, 2 * REJOIN_MS_MIN, 4 * REJOIN_MS_MIN].entries()) {
    await cluster.stored.seal(`life-${i + 1}`);
    while (node.current !== undefined) await cluster.live(50);
    await cluster.live(pauseMs - 100);
    assert.is(idOf(node), undefined);
    await cluster.live(200);
    assert.is(idOf(node), `life-${i + 2}`);
    await cluster.live(3_000);
  }
  assert.is(cluster.notices.filter((notice) => notice.includes('rejoins')).length, 3);
});

sealed(
  'has its acknowledged records in its next incarnation, and remembers their calls',
  async () => {
    const cluster = new TallyCluster();
    const node = await cluster.join('a');
    await cluster.live(3_000);
    for (let i = 0; i < 5; i += 1) await cluster.add(node, 'x');
    await cluster.add(node, 'x', 4_711);
    await cluster.stored.seal('life-1');
    await cluster.live(REJOIN_MS_MIN + 4_000);
    assert.is(node.current?.id, 'life-2');
    assert.equal(await cluster.add(node, 'x', 4_711), { sum: 6, version: 6, again: true });
    assert.equal(await cluster.add(node, 'x'), { sum: 7, version: 7, again: false });
    assert.equal(cluster.bugs, []);
  },
);

const leaving = suite('a node that leaves');

leaving('stores everything and seals its journal, and its successor has all state', async () => {
  const { cluster, node } = await tallied();
  await cluster.add(node, 'y');
  const left = node[Symbol.asyncDispose]();
  await cluster.live(1_000);
  assert.equal(await stateOf(left), { value: undefined });
  assert.equal([cluster.kind.stored.get('x')?.sum, cluster.kind.stored.get('y')?.sum], [1, 1]);
  assert.ok((await cluster.stored.readHead('life-1', 'serial'))?.isSealed);
  const next = await cluster.join('a');
  await cluster.live(4_000);
  assert.equal(await cluster.add(next, 'x'), { sum: 2, version: 2, again: false });
  assert.equal(cluster.bugs, []);
});

leaving('gives its actors to other nodes, with their remembered calls', async () => {
  const cluster = new TallyCluster();
  const node = await cluster.join('a');
  await cluster.live(3_000);
  const ids = Array.from({ length: 20 }, (_, i) => `t${i}`);
  for (const [i, id] of ids.entries()) await cluster.add(node, id, 9_000 + i);
  const other = await cluster.join('b');
  await cluster.live(1_500);
  const left = node[Symbol.asyncDispose]();
  await cluster.live(LEAVE_SPREAD_MS + 500);
  assert.equal(await stateOf(left), { value: undefined });
  for (const [i, id] of ids.entries()) {
    assert.equal(await cluster.add(other, id, 9_000 + i), { sum: 1, version: 1, again: true });
  }
  assert.equal(cluster.bugs, []);
});

for (const suite of [features, birth, sealed, lost, leaving]) suite.run();
