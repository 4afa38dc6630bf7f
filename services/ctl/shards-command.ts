import { type ClusterSnapshot, snapshotCommand } from '#ctl/cluster-snapshot';

/** `ctl shards`: a line for each shard with its owner by the table and its place on the ring. */
export const SHARDS = snapshotCommand({
  words: ['shards'],
  summary: 'Shows the owner of every shard by the table, and whether it serves.',
  items: shardsOf,
  headings: ['SERVICE', 'SHARD', 'STATE', 'OWNER', 'ADDRESS', 'INCARNATION', 'EPOCH', 'DUE AT'],
  row({ service, shard, state, node, address, incarnation, epoch, due_at }) {
    return [service, shard, state, node, address, incarnation, epoch, due_at];
  },
});

function shardsOf({ service, rows, members, ring, shardCount }: ClusterSnapshot) {
  const rowOf = new Map(rows.map((row) => [row.shard, row]));
  const memberOf = new Map(members.map((member) => [member.incarnation, member]));
  return Array.from({ length: shardCount }, (_, shard) => {
    const row = rowOf.get(shard);
    const member = memberOf.get(row?.owner ?? '');
    const isServed = member?.shards.some(([one, epoch]) => one === shard && epoch === row?.epoch);
    return {
      service,
      shard,
      state: stateOf(row !== undefined, member !== undefined, isServed ?? false),
      node: member?.node,
      address: member?.address,
      incarnation: row?.owner,
      epoch: row?.epoch,
      due_at: ring[shard],
    };
  });
}

/** `moving`: its owner is heard and does not say that it serves the shard at this epoch. */
function stateOf(isOwned: boolean, isHeard: boolean, isServed: boolean) {
  if (!isOwned) return 'unowned';
  if (!isHeard) return 'not heard';
  return isServed ? 'served' : 'moving';
}
