import type { ClusterSnapshot } from '#overview/cluster-snapshot';

/** A line for each shard with its owner by the table and its place on the ring. */
export function shardsOf({ service, rows, members, ring, shardCount }: ClusterSnapshot) {
  const rowOf = new Map(rows.map((row) => [row.shard, row]));
  const memberOf = new Map(members.map((member) => [member.incarnation, member]));
  const served = new Set(
    members.flatMap(({ incarnation, shards }) =>
      shards.map(([shard, epoch]) => `${shard} ${epoch} ${incarnation}`),
    ),
  );
  return Array.from({ length: shardCount }, (_, shard) => {
    const row = rowOf.get(shard);
    const member = memberOf.get(row?.owner ?? '');
    const isServed = served.has(`${shard} ${row?.epoch} ${row?.owner}`);
    return {
      service,
      shard,
      state: stateOf(row !== undefined, member !== undefined, isServed),
      node: member?.node,
      address: member?.address,
      incarnation: row?.owner,
      epoch: row?.epoch,
      due_at: ring[shard],
    };
  });
}

/** One of those lines. */
export type SeenShard = ReturnType<typeof shardsOf>[number];

/** `moving`: its owner is heard and does not say that it serves the shard at this epoch. */
function stateOf(isOwned: boolean, isHeard: boolean, isServed: boolean) {
  if (!isOwned) return 'unowned';
  if (!isHeard) return 'not heard';
  return isServed ? 'served' : 'moving';
}
