import { strict as assert } from 'node:assert';
import { hashText, mixBits } from '#stdlib/hash-map';

/** Multiplier that spreads shard numbers before they are mixed with a node's hash: 2^32 / phi. */
const SHARD_SPREAD = 0x9e3779b1;

/**
 * Maximum number of node-shard pairs. A pair must fit beside a 32-bit weight into one exact number:
 * 2^53 / 2^32.
 */
const PAIRS_MAX = 2 ** 21;

/**
 * Assigns each shard to a node by consistent hashing with bounded loads (architecture 3). Every
 * pair of node and shard has a pseudo-random weight. Pairs are taken in order of weight while the
 * shard is free and the node is below its share.
 *
 * So loads differ by at most one, the order of `nodes` does not matter, and a change of `nodes`
 * moves few shards beyond the necessary ones. `nodes` must be distinct names. Returns an empty
 * array without nodes.
 */
export function assignShards(nodes: readonly string[], shardCount: number): string[] {
  assert(new Set(nodes).size === nodes.length, 'every node is on the ring once');
  const sorted = [...nodes].sort();
  const shareMin = Math.floor(shardCount / sorted.length);
  // The number of nodes that have one shard more than the others.
  let largerShares = shardCount % sorted.length;
  const loads = new Uint32Array(sorted.length);
  const assigned: string[] = [];
  let free = sorted.length === 0 ? 0 : shardCount;
  for (const pair of pairsByWeight(sorted, shardCount)) {
    if (free === 0) break;
    const shard = pair % shardCount;
    const node = (pair - shard) / shardCount;
    const load = loads[node] ?? 0;
    const isLarger = load === shareMin;
    if (assigned[shard] !== undefined || load > shareMin || (isLarger && largerShares === 0)) {
      continue;
    }
    if (isLarger) largerShares -= 1;
    loads[node] = load + 1;
    assigned[shard] = sorted[node] ?? '';
    free -= 1;
  }
  return assigned;
}

/**
 * Returns a memoized `assignShards` that keeps its last result. A large ring takes milliseconds,
 * and views seldom change.
 */
export function cachedRing(shardCount: number): (nodes: readonly string[]) => readonly string[] {
  let view = '';
  let owners: readonly string[] = [];
  return (nodes) => {
    const asked = nodes.join('\n');
    if (asked !== view) {
      owners = nodes.length === 0 ? [] : assignShards(nodes, shardCount);
      view = asked;
    }
    return owners;
  };
}

/**
 * The `count` nodes that follow `node` on the circle of node hashes, nearest first. `node` itself
 * is excluded and need not be in `nodes`. Source: architecture 3.3 (watchers).
 */
export function nodesAfter(node: string, nodes: readonly string[], count: number): string[] {
  const start = hashText(node);
  const place = (name: string): number => (hashText(name) - start) >>> 0;
  return nodes
    .filter((name) => name !== node)
    .sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
    .slice(0, count);
}

/** All pairs, encoded as `node * shardCount + shard`, heaviest first. */
function pairsByWeight(nodes: readonly string[], shardCount: number): Float64Array {
  assert(nodes.length * shardCount <= PAIRS_MAX, `at most ${PAIRS_MAX} pairs of node and shard`);
  const pairs = new Float64Array(nodes.length * shardCount);
  let pair = 0;
  for (const node of nodes) {
    const hash = hashText(node);
    for (let shard = 0; shard < shardCount; shard += 1) {
      const weight = mixBits(hash ^ Math.imul(shard + 1, SHARD_SPREAD)) >>> 0;
      // Weight in the high digits, pair in the low ones: the typed array sorts without a
      // comparator.
      pairs[pair] = -(weight * PAIRS_MAX) + pair;
      pair += 1;
    }
  }
  pairs.sort();
  // The weight is a multiple of PAIRS_MAX, so the remainder is the pair.
  return pairs.map((sorted) => sorted - Math.floor(sorted / PAIRS_MAX) * PAIRS_MAX);
}

/**
 * Shard of an actor, 0 to `shardCount` - 1. The result for an id and a count must never change in
 * any version, because routers and owners must agree. Source: architecture 3.
 */
export function shardOf(actorId: string, shardCount: number): number {
  return hashText(actorId) % shardCount;
}
