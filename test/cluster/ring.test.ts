import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assignShards, nodesAfter } from '#cluster/shard-owners';
import { hashText } from '#stdlib/hash-map';

const nodeNames = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 24,
});
const shardCounts = fc.constantFrom(1, 5, 64, 100, 256);

/**
 * Maximum number of additional moves when a node joins or leaves. Measured over thousands of
 * changes: 15 of 256 shards, 9 of 64. A ring without bounded movement moves nearly all shards.
 */
const movedBesidesMax = (shardCount: number): number => 6 + shardCount / 10;

const ring = suite('the consistent-hash ring');

ring('assigns every shard to a node, and two nodes differ by at most one shard', () => {
  fc.assert(
    fc.property(nodeNames, shardCounts, (nodes, shardCount) => {
      const assigned = assignShards(nodes, shardCount);
      assert.is(assigned.length, shardCount);
      const loads = nodes.map((node) => assigned.filter((owner) => owner === node).length);
      assert.is(
        loads.reduce((sum, load) => sum + load),
        shardCount,
      );
      assert.ok(Math.max(...loads) <= Math.ceil(shardCount / nodes.length));
      assert.ok(Math.min(...loads) >= Math.floor(shardCount / nodes.length));
    }),
  );
});

ring('does not depend on the order of the nodes', () => {
  const ordered = fc
    .tuple(nodeNames, shardCounts)
    .chain(([nodes, shardCount]) =>
      fc.tuple(
        fc.constant(nodes),
        fc.shuffledSubarray(nodes, { minLength: nodes.length }),
        fc.constant(shardCount),
      ),
    );
  fc.assert(
    fc.property(ordered, ([nodes, shuffled, shardCount]) => {
      assert.equal(assignShards(nodes, shardCount), assignShards(shuffled, shardCount));
    }),
  );
});

ring('does not depend on the order even if two names have the same hash', () => {
  const twins = ['engine-539599', 'engine-722382'];
  assert.is(hashText(twins[0] ?? ''), hashText(twins[1] ?? ''));
  assert.equal(assignShards(twins, 64), assignShards(twins.toReversed(), 64));
  assert.equal(nodesAfter('a', twins, 1), nodesAfter('a', twins.toReversed(), 1));
});

ring('moves the shards of a joining or leaving node and few others', () => {
  fc.assert(
    fc.property(nodeNames, shardCounts, fc.nat(), (nodes, shardCount, at) => {
      fc.pre(nodes.length > 1);
      const gone = nodes[at % nodes.length];
      const others = nodes.filter((node) => node !== gone);
      const before = assignShards(nodes, shardCount);
      const after = assignShards(others, shardCount);
      const besides = before.filter((node, shard) => node !== gone && node !== after[shard]);
      assert.ok(
        besides.length <= movedBesidesMax(shardCount),
        `${besides.length} additional moves`,
      );
    }),
  );
});

ring('is the same in every version: nodes of two versions must agree', () => {
  const nodes = ['engine-0', 'engine-1', 'engine-2'];
  const digits = assignShards(nodes, 16).map((node) => node.at(-1));
  assert.is(digits.join(''), '0220201121100120');
});

ring('assigns nothing without nodes', () => {
  assert.equal(assignShards([], 64), []);
});

ring('refuses a node that is named twice', () => {
  assert.throws(() => assignShards(['a', 'b', 'a'], 64), /must be distinct/);
});

const circle = suite('the successors of a node on the ring');

circle('are other distinct nodes, as many as requested if there are enough', () => {
  fc.assert(
    fc.property(nodeNames, fc.nat(5), (nodes, count) => {
      const [node = ''] = nodes;
      const after = nodesAfter(node, nodes, count);
      assert.is(new Set(after).size, Math.min(count, nodes.length - 1));
      assert.not(after.includes(node));
    }),
  );
});

circle('are the same whether or not the node itself is listed, in any order', () => {
  fc.assert(
    fc.property(nodeNames, (nodes) => {
      const [node = '', ...others] = nodes;
      assert.equal(nodesAfter(node, nodes, 3), nodesAfter(node, others.reverse(), 3));
    }),
  );
});

circle('are all other nodes, in the order of the ring after the node', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'];
  const order = ['a', ...nodesAfter('a', nodes, 4)];
  const [second = ''] = order.slice(1);
  assert.equal(nodesAfter(second, nodes, 4), [...order.slice(2), 'a']);
});

for (const each of [ring, circle]) each.run();
