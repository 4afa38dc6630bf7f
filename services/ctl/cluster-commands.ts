import type { ClusterCommand } from '#ctl/command';
import { DRAIN } from '#ctl/drain-command';
import { INSTANCE } from '#ctl/instance-command';
import { JOURNAL } from '#ctl/journal-command';
import { NODES, RING } from '#ctl/node-commands';
import { SHARDS } from '#ctl/shards-command';
import { VERIFY } from '#ctl/verify-command';

/** What `ctl` does with a cluster, its nodes and their instances. */
export const CLUSTER_COMMANDS: readonly ClusterCommand[] = [
  RING,
  SHARDS,
  NODES,
  INSTANCE,
  DRAIN,
  VERIFY,
  JOURNAL,
];
