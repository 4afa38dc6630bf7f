import { snapshotCommand } from '#ctl/cluster-snapshot';
import { shardsOf } from '#overview/snapshot-shards';

/** `ctl shards`: a line for each shard with its owner by the table and its place on the ring. */
export const SHARDS = snapshotCommand({
  words: ['shards'],
  summary: 'show the owner of every shard',
  description: 'Shows the owner of every shard by the table, and whether it serves.',
  items: shardsOf,
  headings: ['SERVICE', 'SHARD', 'STATE', 'OWNER', 'ADDRESS', 'INCARNATION', 'EPOCH', 'DUE AT'],
  row({ service, shard, state, node, address, incarnation, epoch, due_at }) {
    return [service, shard, state, node, address, incarnation, epoch, due_at];
  },
});
