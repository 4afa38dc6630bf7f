import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { CLOSE_POLL_MS, EAGER_DELAY_MS, EFFECT_RETRY_MS } from '#shards/journal-bounds';
import { lineOf, recordsOf } from '#test/actor-runtime/commit-log/journal-records';
import { newScene } from '#test/shards/shards-fixture';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

const opening = suite('opening a shard');

opening('does nothing after the incarnation has ended', async () => {
  const { shards } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  shards.end();
  assert.is(shards.open.size, 0);
  shards.openShard({ shard: 2, epoch: 1 });
  assert.is(shards.open.size, 0);
});

const closing = suite('the closing of a shard');

closing('stops intake, then waits for turns, stores and drops, in this order', async () => {
  const { shards, clock, host } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  host.busy = 1;
  const closed = shards.closeShard(1);
  await turnOfEvents();
  assert.not(shards.open.has(1));
  await pass(clock, CLOSE_POLL_MS * 3, 1);
  assert.equal(host.steps, []);
  host.busy = 0;
  await pass(clock, CLOSE_POLL_MS, 1);
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

// A feed that closed with the instances could not take their last transitions.
closing('keeps the last actors open until the other actors are stored', async () => {
  const { shards, gate, host, last } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  const seen: boolean[][] = [];
  const isOpen = (until?: 'closed') => {
    try {
      gate.assertOpen(1, until);
      return true;
    } catch {
      return false;
    }
  };
  host.onStore = () => seen.push([isOpen(), isOpen('closed')]);
  last.onStore = () => seen.push([isOpen(), isOpen('closed')]);
  await shards.closeShard(1);
  assert.equal(seen, [
    [false, true],
    [false, false],
  ]);
  assert.equal(last.steps, ['store 1', 'drop 1']);
});

// A closed shard with unsent notices would refuse its callers until the receiver is back.
closing('does not begin while notices are unsent: the shard keeps serving', async () => {
  const { shards, clock, host } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  host.isUnsent = true;
  const closed = shards.closeShard(1);
  await pass(clock, 20 * EFFECT_RETRY_MS);
  assert.equal([shards.open.has(1), host.steps], [true, []]);
  host.isUnsent = false;
  await pass(clock, EFFECT_RETRY_MS);
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('is reported until another node may own the shard, or the shard opens again', async () => {
  const { gate, shards } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  assert.not(gate.isClosing(1));
  await shards.closeShard(1);
  assert.ok(gate.isClosing(1));
  shards.releasing(1);
  assert.not(gate.isClosing(1));
  shards.openShard({ shard: 1, epoch: 2 });
  await shards.closeShard(1);
  assert.ok(gate.isClosing(1));
  shards.openShard({ shard: 1, epoch: 3 });
  assert.not(gate.isClosing(1));
});

closing('waits for appends in flight before it stores', async () => {
  const { shards, log, host, hold } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  const release = hold();
  log.add(lineOf());
  const closed = shards.closeShard(1);
  await turnOfEvents();
  assert.equal(host.steps, []);
  release();
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('activates every actor that still has recovered records', async () => {
  const { shards, host, clock } = await newScene([...recordsOf('a', [1]), ...recordsOf('b', [1])]);
  await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
  shards.openShard({ shard: 1, epoch: 2 });
  host.isActivationStuck = true;
  const closed = shards.closeShard(1);
  await pass(clock, 50, 5);
  assert.is(await stateOf(closed), 'pending');
  assert.ok(shards.open.has(1), 'the shard is served meanwhile');
  host.isActivationStuck = false;
  await pass(clock, 50, 5);
  await closed;
  assert.equal(host.steps, ['activate a', 'activate b', 'store 1', 'drop 1']);
});

closing(
  'continues soon after stuck activations succeed, even if eight shards close together',
  async () => {
    const ids = Array.from({ length: 8 }, (_, i) => 'a'.repeat(i + 1));
    const { shards, host, clock } = await newScene(ids.flatMap((id) => recordsOf(id, [1])));
    const claims = ids.map(({ length }) => ({ shard: length, epoch: 2 }));
    await shards.recoverTail('dead', claims);
    for (const claim of claims) shards.openShard(claim);
    host.isActivationStuck = true;
    const closed = Promise.all(claims.map(({ shard }) => shards.closeShard(shard)));
    await pass(clock, 100, 10);
    host.isActivationStuck = false;
    await pass(clock, 50, 5);
    assert.is(shards.open.size, 0);
    await closed;
  },
);

closing(
  'does not end while an actor cannot be activated, and retries the activation rarely',
  async () => {
    const { shards, log, host, clock } = await newScene(recordsOf('a', [1]));
    await shards.recoverTail('dead', [{ shard: 1, epoch: 2 }]);
    host.isActivationStuck = true;
    shards.openShard({ shard: 1, epoch: 2 });
    const closed = refusalOf(() => shards.closeShard(1));
    await pass(clock, 2 * EAGER_DELAY_MS, 10);
    const before = host.activations;
    await pass(clock, 10_000, 10);
    assert.ok(host.activations - before <= 22, `${host.activations - before}`);
    assert.ok(shards.open.has(1));
    log.end(new Error('fenced'));
    await pass(clock, 2_000, 10);
    assert.is(((await closed) as Fault).code, 'service_unavailable');
  },
);

closing(
  'lets every actor commit its closing record before anything is stored, and retries failures',
  async () => {
    const { shards, host, clock } = await newScene();
    shards.openShard({ shard: 1, epoch: 1 });
    host.isJournalDown = true;
    const closed = shards.closeShard(1);
    await turnOfEvents();
    assert.equal(host.steps, [], 'a closing record that failed is not left out');
    await pass(clock, EFFECT_RETRY_MS);
    await closed;
    assert.equal(host.closings, [[], []]);
    assert.equal(host.steps, ['store 1', 'drop 1']);
  },
);

closing('stores again until the store succeeds, and drops nothing before', async () => {
  const { shards, host, clock } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  host.isStoreDown = true;
  const closed = shards.closeShard(1);
  await pass(clock, EFFECT_RETRY_MS * 5);
  assert.equal(host.steps, []);
  host.isStoreDown = false;
  await pass(clock, EFFECT_RETRY_MS);
  await closed;
  assert.equal(host.steps, ['store 1', 'drop 1']);
});

closing('rejects when the incarnation ends first, and drops nothing', async () => {
  const { shards, host, log, clock } = await newScene();
  shards.openShard({ shard: 1, epoch: 1 });
  host.busy = 1;
  const refused = refusalOf(() => shards.closeShard(1));
  log.end(new Error('fenced'));
  await pass(clock, CLOSE_POLL_MS * 2, 1);
  assert.is(((await refused) as Fault).code, 'service_unavailable');
  assert.equal(host.steps, []);
});

for (const suite of [opening, closing]) suite.run();
