import { assignShards } from '#cluster/ring';

/**
 * Returns which of some nodes should own each shard; empty without nodes. It remembers its last
 * answer: a large ring takes milliseconds, and views seldom change.
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
