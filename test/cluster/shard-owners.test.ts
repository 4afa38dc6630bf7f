import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import type { OwnedShard } from '#cluster/heartbeat';
import { Membership } from '#cluster/membership';
import { ShardOwners } from '#cluster/shard-owners';
import type { ShardOwner } from '#errors/fault';
import { ManualClock } from '#test/support/manual-clock';

const SHARDS = 8;

/** One engine, and an edge with a routing table. */
function newScene() {
  const clock = new ManualClock();
  const bus = inProcessBus({ clock, onBug: (error) => assert.unreachable(String(error)) });
  const owned: OwnedShard[] = [];
  const common = { bus, clock, cluster: 'c', prefix: 'test', service: 'engine' as const };
  const onForeignCluster = (): void => undefined;
  const startEngine = (node: string) => {
    const self = () => ({
      node,
      incarnation: `${node}-1`,
      address: `${node}:8100`,
      startedAtMs: 1,
      isLeaving: false,
      shards: owned,
      shardCount: SHARDS,
    });
    return new Membership({ ...common, self, onForeignCluster });
  };
  const engine = startEngine('a');
  const edge = new Membership({ ...common, self: undefined, onForeignCluster });
  const table = new ShardOwners({ members: edge, shardCount: SHARDS, clock });
  const changes: string[] = [];
  table.onChange((shard, owner) => changes.push(`${shard} ${owner.incarnation}`));
  return { clock, bus, owned, engine, startEngine, edge, table, changes };
}

const owner = (incarnation: string, epoch: number): ShardOwner => ({
  incarnation,
  address: `${incarnation}:8100`,
  epoch,
});

const known = suite('the owner of a shard');

known('is unknown until a message names it', () => {
  const { clock, table } = newScene();
  clock.advance(60_000);
  for (let shard = 0; shard < SHARDS; shard += 1) assert.is(table.ownerOf(shard), undefined);
});

known('is learned from a heartbeat, an announcement or an answer', () => {
  const { clock, owned, engine, table } = newScene();
  owned.push([1, 5]);
  engine.beat();
  engine.announce(2, 6);
  clock.advance(0);
  table.learn(3, owner('b', 7));
  const a = { incarnation: 'a-1', address: 'a:8100' };
  assert.equal(table.ownerOf(1), { ...a, epoch: 5 });
  assert.equal(table.ownerOf(2), { ...a, epoch: 6 });
  assert.equal(table.ownerOf(3), owner('b', 7));
});

known('is the owner with the largest epoch, in any order of messages', () => {
  const epochs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(epochs, (heard) => {
      const { table, changes } = newScene();
      for (const epoch of heard) table.learn(0, owner(`owner-${epoch}`, epoch));
      const largest = Math.max(...heard);
      assert.equal(table.ownerOf(0), owner(`owner-${largest}`, largest));
      assert.is(changes.at(-1), `0 owner-${largest}`);
    }),
  );
});

known('does not change if another node claims the same epoch', () => {
  const { table, changes } = newScene();
  assert.ok(table.learn(0, owner('a', 5)));
  assert.not(table.learn(0, owner('b', 5)));
  assert.equal([table.ownerOf(0), changes], [owner('a', 5), ['0 a']]);
});

known('is kept, however long the owner is silent and the bus is disconnected', async () => {
  const { clock, bus, owned, engine, edge, table } = newScene();
  owned.push([1, 5]);
  engine.beat();
  clock.advance(0);
  await bus[Symbol.asyncDispose]();
  clock.advance(600_000);
  assert.equal(edge.known(), []);
  assert.is(table.ownerOf(1)?.address, 'a:8100');
});

known('is unknown for a shard that the cluster does not have', () => {
  const { table, changes } = newScene();
  for (const shard of [-1, SHARDS, 0.5, 4_000]) {
    assert.not(table.learn(shard, owner('a', 1)));
    assert.is(table.ownerOf(shard), undefined);
  }
  assert.equal(changes, []);
});

const doubted = suite('an owner that did not serve a call');

/** Largest epoch that a message can contain. */
const UNBEATABLE = Number.MAX_SAFE_INTEGER;

doubted('is replaced when the next message of the true owner arrives, at any epoch', () => {
  const { clock, owned, engine, table, changes } = newScene();
  table.learn(1, owner('insider', UNBEATABLE));
  owned.push([1, 5]);
  engine.beat();
  clock.advance(0);
  assert.is(table.ownerOf(1)?.incarnation, 'insider', 'before any call to it failed');
  table.doubt(1, clock.monotonicMs());
  clock.advance(1_000);
  assert.equal(table.ownerOf(1), { incarnation: 'a-1', address: 'a:8100', epoch: 5 });
  assert.equal(changes, ['1 insider', '1 a-1']);
});

doubted('is not accepted again instead of the owner that replaced it', () => {
  const { clock, table, changes } = newScene();
  table.learn(1, owner('insider', UNBEATABLE));
  table.doubt(1, clock.monotonicMs());
  table.learn(1, owner('a', 5));
  for (let count = 0; count < 10; count += 1) table.learn(1, owner('insider', UNBEATABLE));
  assert.equal(changes, ['1 insider', '1 a']);
  assert.ok(table.learn(1, owner('b', 6)), 'the next owner is accepted');
});

doubted(
  'is not confirmed by its own message, but replaced by the same node at another address',
  () => {
    const { clock, table } = newScene();
    const claim = owner('a', UNBEATABLE);
    table.learn(1, { ...claim, address: 'elsewhere:1' });
    table.doubt(1, clock.monotonicMs());
    assert.not(table.learn(1, { ...claim, address: 'elsewhere:1' }));
    assert.ok(table.learn(1, owner('a', 5)), 'the same node at its true address');
  },
);

doubted('is kept as long as no other owner is known, even without the bus', async () => {
  const { clock, bus, table } = newScene();
  table.learn(1, owner('a', 5));
  await bus[Symbol.asyncDispose]();
  for (let minute = 0; minute < 60; minute += 1) {
    table.doubt(1, clock.monotonicMs());
    clock.advance(60_000);
    assert.is(table.ownerOf(1)?.incarnation, 'a');
  }
});

doubted('is not doubted if it was learned after the call was sent', () => {
  const { clock, table } = newScene();
  table.learn(1, owner('old', 5));
  const askedMs = clock.monotonicMs();
  clock.advance(10);
  table.learn(1, owner('new', 6));
  table.doubt(1, askedMs);
  assert.not(table.learn(1, owner('old', 5)));
  assert.is(table.ownerOf(1)?.incarnation, 'new');
});

doubted('is trusted again after ten seconds', () => {
  const { clock, table } = newScene();
  table.learn(1, owner('a', 5));
  table.doubt(1, clock.monotonicMs());
  clock.advance(10_000);
  assert.not(table.learn(1, owner('zombie', 4)));
  assert.is(table.ownerOf(1)?.incarnation, 'a');
});

const checked = suite('an owner that is compared with the stored table');
checked('is doubted if the table contradicts or lacks it, and not if the table confirms it', () => {
  const { clock, table } = newScene();
  for (const shard of [0, 1, 2]) table.learn(shard, owner('insider', UNBEATABLE));
  table.learn(3, owner('a', 5));
  clock.advance(1_000);
  const rows = [
    { shard: 1, owner: 'a', epoch: 5 },
    { shard: 2, owner: 'insider', epoch: 5 },
    { shard: 3, owner: 'a', epoch: 5 },
  ];
  table.check(rows, clock.monotonicMs());
  for (const shard of [0, 1, 2]) assert.ok(table.learn(shard, owner('a', 5)), `${shard}`);
  assert.not(table.learn(3, owner('zombie', 4)), 'an owner that the table confirms is not doubted');
});

checked('is not doubted if it was heard after the table was read', () => {
  const { clock, table } = newScene();
  const askedMs = clock.monotonicMs();
  clock.advance(10);
  table.learn(1, owner('new', 6));
  table.check([{ shard: 1, owner: 'old', epoch: 5 }], askedMs);
  assert.not(table.learn(1, owner('old', 5)));
  assert.is(table.ownerOf(1)?.incarnation, 'new');
});

const joined = suite('a node that joins');

joined('is reported before it owns anything, and again only after a silence', () => {
  const { clock, engine, startEngine, table } = newScene();
  const names: string[] = [];
  table.onJoined(({ incarnation, address }) => names.push(`${incarnation} at ${address}`));
  engine.beat();
  startEngine('b').beat();
  clock.advance(2_000);
  assert.equal(names, ['a-1 at a:8100', 'b-1 at b:8100']);
  engine[Symbol.dispose]();
  clock.advance(5_000);
  assert.is(names.length, 2, 'a node that leaves is not reported');
  startEngine('a').beat();
  clock.advance(0);
  assert.equal(names.slice(2), ['a-1 at a:8100']);
});

const closed = suite('a routing table that is disposed');

closed('learns nothing from the bus and notifies no listener', () => {
  const { clock, owned, engine, table, changes } = newScene();
  table[Symbol.dispose]();
  owned.push([1, 5]);
  engine.beat();
  engine.announce(2, 6);
  clock.advance(0);
  table.learn(3, owner('b', 1));
  assert.equal([table.ownerOf(1), table.ownerOf(2), changes], [undefined, undefined, []]);
});

for (const each of [known, doubted, checked, joined, closed]) each.run();
