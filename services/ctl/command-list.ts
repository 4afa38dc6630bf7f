import { ACCOUNT_COMMANDS } from '#ctl/account-commands';
import type { ClusterCommand, Command } from '#ctl/command';
import { DRAIN } from '#ctl/drain-command';
import { INSTANCE } from '#ctl/instance-command';
import { JOURNAL } from '#ctl/journal-command';
import { NODES } from '#ctl/nodes-command';
import { RING } from '#ctl/ring-command';
import { SHARDS } from '#ctl/shards-command';
import { VERIFY } from '#ctl/verify-command';

/** What `ctl` does with a cluster, its nodes and their instances. */
const CLUSTER_COMMANDS: readonly ClusterCommand[] = [
  RING,
  SHARDS,
  NODES,
  INSTANCE,
  DRAIN,
  VERIFY,
  JOURNAL,
];

/** Every command: those of accounts, then those of a cluster. */
export const COMMANDS: readonly Command[] = [...ACCOUNT_COMMANDS, ...CLUSTER_COMMANDS];

/** What is typed after `ctl`: words, arguments and options. */
export function synopsis(command: Command): string {
  const options = Object.entries(command.options).map(([name, value]) => `[--${name} ${value}]`);
  return [...command.words, ...command.args.map((arg) => `<${arg}>`), ...options].join(' ');
}
