import { ACCOUNT_COMMANDS } from '#ctl/account-commands';
import { CLUSTER_COMMANDS } from '#ctl/cluster-commands';
import type { Command } from '#ctl/command';

/** Every command: those of accounts, then those of a cluster. */
export const COMMANDS: readonly Command[] = [...ACCOUNT_COMMANDS, ...CLUSTER_COMMANDS];

/** What is typed after `ctl`: words, arguments and options. */
export function synopsis(command: Command): string {
  const options = Object.entries(command.options).map(([name, value]) => `[--${name} ${value}]`);
  return [...command.words, ...command.args.map((arg) => `<${arg}>`), ...options].join(' ');
}
