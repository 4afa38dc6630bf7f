import type { ClusterSnapshot } from '#overview/cluster-snapshot';

/** A row for each node of the ring, each owner that is not on it, and for what no node owns. */
export function ringOf({ service, members, ring, rows, shardCount }: ClusterSnapshot) {
  const nodeOf = new Map(members.map(({ incarnation, node }) => [incarnation, node]));
  const owners = new Map(rows.map(({ shard, owner }) => [shard, nodeOf.get(owner) ?? owner]));
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  const names: (string | undefined)[] = [...new Set([...ring, ...owners.values()])].sort();
  if (owners.size < shardCount) names.push(undefined);
  return names.map((node) => {
    const owns = shards.filter((shard) => owners.get(shard) === node);
    const due = shards.filter((shard) => ring[shard] === node);
    const isDue = (shard: number) => ring[shard] === node;
    const to_go = ring.length === 0 ? 0 : owns.filter((shard) => !isDue(shard)).length;
    const to_come = due.filter((shard) => owners.get(shard) !== node).length;
    return { service, node, due: ring.length === 0 ? 0 : due.length, owns, to_come, to_go };
  });
}
