import {
  type ClusterSnapshot,
  readCluster,
  remarksOn,
  SERVICE_OPTION,
} from '#ctl/cluster-snapshot';
import type { ClusterCommand } from '#ctl/command';
import { table } from '#ctl/table';

/** `ctl shards`: a line for each shard with its owner by the table and its place on the ring. */
export const SHARDS: ClusterCommand = {
  kind: 'cluster',
  words: ['shards'],
  summary: 'Shows the owner of every shard by the table, and whether it serves.',
  args: [],
  options: SERVICE_OPTION,
  async run(ports, _args, values) {
    const snapshots = await readCluster(ports, values);
    const data = snapshots.flatMap(shardsOf);
    const headings = [
      ...['SERVICE', 'SHARD', 'STATE', 'OWNER', 'ADDRESS', 'INCARNATION', 'EPOCH', 'DUE AT'],
    ];
    const rows = data.map(
      ({ service, shard, state, node, address, incarnation, epoch, due_at }) => [
        service,
        String(shard),
        state,
        node ?? '-',
        address ?? '-',
        incarnation ?? '-',
        String(epoch ?? '-'),
        due_at ?? '-',
      ],
    );
    return { data, text: `${table(headings, rows)}${remarksOn(snapshots)}` };
  },
};

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
