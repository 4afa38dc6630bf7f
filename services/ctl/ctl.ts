import { parseArgs } from 'node:util';
import { ACCOUNT_COMMANDS } from '#ctl/account-commands';
import { adminClient } from '#ctl/admin-client';
import { AUDIT_COMMANDS } from '#ctl/audit-commands';
import { CAPACITY } from '#ctl/capacity-command';
import {
  type ClusterPorts,
  type Command,
  CtlError,
  type FilePorts,
  type Printout,
  type Values,
} from '#ctl/command';
import type { StorePlaces } from '#ctl/copied-stores';
import { COPY } from '#ctl/copy-command';
import { DELETE_ACCOUNT } from '#ctl/delete-command';
import { DRAIN } from '#ctl/drain-command';
import { EXPORT } from '#ctl/export-command';
import { BACKUP, RESTORE, VACUUM } from '#ctl/file-commands';
import { IMPORT } from '#ctl/import-command';
import { INSTANCE } from '#ctl/instance-command';
import { USAGE_INSTANCES } from '#ctl/instance-usage-command';
import { JOURNAL } from '#ctl/journal-command';
import { LIST_USERS } from '#ctl/list-users-command';
import { NODES } from '#ctl/nodes-command';
import { REMOVE_USER } from '#ctl/remove-user-command';
import { APPLY_RETENTION } from '#ctl/retention-command';
import { RING } from '#ctl/ring-command';
import { SETUP_LINK } from '#ctl/setup-link-command';
import { SHARDS } from '#ctl/shards-command';
import { VERIFY } from '#ctl/verify-command';

/** Where a command prints, and what it looks at unless options say otherwise. */
type CtlIo = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes as it is; fulfils when there is room for more. */
  readonly write: (text: string) => Promise<void>;
  /** Asks the user; undefined: there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  readonly adminUrl: string;
  /** The file of its token; undefined: where a process of this user publishes it. */
  readonly adminTokenFile?: string | undefined;
  /** Opens the cluster of the configuration. Rejects with one line that says what is missing. */
  readonly openCluster: () => Promise<ClusterPorts & AsyncDisposable>;
  /** Finds the one file that keeps all data. Rejects with one line where there is none. */
  readonly openFile: () => Promise<FilePorts>;
  /** What opens the stores that a command names. */
  readonly openPlaces: () => Promise<StorePlaces>;
};

/** Every command: those of accounts, those of a cluster, those of a file, those that only compute. */
export const COMMANDS: readonly Command[] = [
  // Before `usage`, whose argument it could be taken for.
  USAGE_INSTANCES,
  ...ACCOUNT_COMMANDS,
  ...AUDIT_COMMANDS,
  ...[
    RING,
    SHARDS,
    NODES,
    INSTANCE,
    DRAIN,
    VERIFY,
    JOURNAL,
    EXPORT,
    IMPORT,
    DELETE_ACCOUNT,
    APPLY_RETENTION,
    SETUP_LINK,
    LIST_USERS,
    REMOVE_USER,
  ],
  ...[BACKUP, RESTORE, VACUUM],
  COPY,
  CAPACITY,
];

/** What is typed after `ctl`: words, arguments and options. */
export function synopsis(command: Command): string {
  const options = Object.entries(command.options).map(
    ([name, value]) => `[${`--${name} ${value}`.trim()}]`,
  );
  return [...command.words, ...command.args.map((arg) => `<${arg}>`), ...options].join(' ');
}

const OPTIONS = {
  admin: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  plan: { type: 'string' },
  scope: { type: 'string' },
  expires: { type: 'string' },
  name: { type: 'string' },
  networks: { type: 'string' },
  grace: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  instances: { type: 'string' },
  'cycles-per-month': { type: 'string' },
  last: { type: 'string' },
  service: { type: 'string' },
  observations: { type: 'string' },
  'keyed-share': { type: 'string' },
  headroom: { type: 'string' },
  yes: { type: 'boolean' },
  file: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  'secret-file': { type: 'string' },
} as const;

/**
 * Runs one command (`argv` without program and script). Fulfils with the exit code, never rejects.
 */
export async function runCtl(argv: readonly string[], io: CtlIo): Promise<number> {
  try {
    const { values, positionals } = parsed(argv);
    if (values.help || positionals.length === 0) {
      io.out(usageText());
      return 0;
    }
    const command = COMMANDS.find(({ words }) => words.every((word, i) => positionals[i] === word));
    if (command === undefined) {
      throw new CtlError(`there is no command "${positionals.join(' ')}"; see "ctl --help"`);
    }
    const args = positionals.slice(command.words.length);
    if (args.length !== command.args.length) {
      throw new CtlError(`usage: ctl ${synopsis(command)}`);
    }
    assertTaken(command, values);
    const { data, text, isBad = false } = await ran(command, args, values, io);
    const printed = values.json ? JSON.stringify(data, undefined, 2) : text;
    if (printed !== '') io.out(printed);
    return isBad ? 1 : 0;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    io.err(`ctl: ${text.replaceAll('\n', ' ')}`);
    return 1;
  }
}

async function ran(
  command: Command,
  args: readonly string[],
  values: Values & { readonly admin?: string | undefined },
  io: CtlIo,
): Promise<Printout> {
  const report = values.json ? () => undefined : io.out;
  const terminal = { report, warn: io.err, write: io.write, ask: io.ask };
  if (command.kind === 'account') {
    const admin = adminClient(values.admin ?? io.adminUrl, io.adminTokenFile);
    return await command.run(admin, args, values, terminal);
  }
  if (command.kind === 'planning') return command.run(values);
  if (command.kind === 'file') {
    const file = await io.openFile();
    return await command.run(file, args, values, terminal);
  }
  if (command.kind === 'stores') {
    return await command.run(await io.openPlaces(), args, values, terminal);
  }
  await using cluster = await io.openCluster();
  return await command.run(cluster, args, values, terminal);
}

/** All commands with what they take, one a line. */
function usageText(): string {
  const lines = (kind: Command['kind']) =>
    COMMANDS.filter((command) => command.kind === kind).map(
      (command) => `  ctl ${synopsis(command)}`,
    );
  return [
    'Administers the accounts of a running service, through its admin port (--admin <url>):',
    ...lines('account'),
    '',
    'Looks after a cluster, with the SERVICE_ variables that its nodes have:',
    ...lines('cluster'),
    '',
    'Looks after the file of SERVICE_STORAGE=sqlite:',
    ...lines('file'),
    '',
    'Opens stores that nothing serves (place: cassandra[:keyspace] or sqlite:file):',
    ...lines('stores'),
    '',
    'Computes, without a service:',
    ...lines('planning'),
    '',
    'Every command: --json for machines.',
  ].join('\n');
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const text = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new CtlError(`${text}; see "ctl --help"`, { cause: error });
  }
}

function assertTaken(command: Command, values: object): void {
  for (const name of Object.keys(values)) {
    const isGeneral = name === 'json' || (name === 'admin' && command.kind === 'account');
    if (!isGeneral && !(name in command.options)) {
      throw new CtlError(`this command takes no --${name}; usage: ctl ${synopsis(command)}`);
    }
  }
}
