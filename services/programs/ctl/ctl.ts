import { ACCOUNT_COMMANDS, USAGE_INSTANCES } from '#ctl/accounts/accounts';
import { AUDIT_COMMANDS } from '#ctl/accounts/audit';
import { DELETE_ACCOUNT } from '#ctl/accounts/delete';
import { LIST_USERS, REMOVE_USER, SETUP_LINK } from '#ctl/accounts/users';
import { WEBHOOK_COMMANDS } from '#ctl/accounts/webhooks';
import { adminClient } from '#ctl/admin-client';
import { BACKUP, RESTORE, VACUUM } from '#ctl/backup';
import { CAPACITY } from '#ctl/capacity/command';
import { DRAIN } from '#ctl/cluster/drain';
import { INSTANCE } from '#ctl/cluster/instance';
import { JOURNAL } from '#ctl/cluster/journal';
import { NODES, RING, SHARDS } from '#ctl/cluster/snapshot';
import {
  type ClusterPorts,
  type Command,
  type CommandTerminal,
  CtlError,
  EXIT,
  type FilePorts,
  type Printout,
  type StorePlaces,
} from '#ctl/command';
import { type Chosen, readCommandLine } from '#ctl/command-line';
import { completionCommand } from '#ctl/completion';
import { COPY } from '#ctl/copy/command';
import { Deadline, SILENT_MS_MAX } from '#ctl/deadline';
import { EXPORT } from '#ctl/export/command';
import { IMPORT } from '#ctl/export/import';
import { escapedJson, escapedText } from '#ctl/printed-text';
import { PROCESS_COMMANDS, VERSION } from '#ctl/process-control';
import { VERIFY } from '#ctl/verify/command';
import { VERIFY_FEED } from '#ctl/verify/feeds';
import { APPLY_RETENTION } from '#ctl/verify/retention';
import { toFault } from '#errors/fault';
import { type Clock, withinMs } from '#stdlib/clock';

/** Output of a command, and its defaults from the configuration. */
type CtlIo = {
  readonly clock: Clock;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes text unchanged. Resolves when the reader accepts more text (back-pressure). */
  readonly write: (text: string) => Promise<void>;
  /** Asks the user a question. Undefined if there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  readonly adminUrl: string;
  /** File with the admin token. Undefined: the file that a process of this user publishes. */
  readonly adminTokenFile?: string | undefined;
  /** Opens the configured cluster. Rejects with a one-line message about missing configuration. */
  readonly openCluster: () => Promise<ClusterPorts & AsyncDisposable>;
  /**
   * Finds the configured SQLite data file. Rejects with a one-line message if there is none.
   */
  readonly openFile: () => Promise<FilePorts>;
  /** Provides access to the stores that a command names. */
  readonly openPlaces: () => Promise<StorePlaces>;
};

/** Maximum time to close the ports after a command, in milliseconds. */
const CLOSING_MS_MAX = 5_000;

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...ACCOUNT_COMMANDS,
  ...AUDIT_COMMANDS,
  ...PROCESS_COMMANDS,
  ...[
    USAGE_INSTANCES,
    RING,
    SHARDS,
    NODES,
    INSTANCE,
    DRAIN,
    VERIFY,
    VERIFY_FEED,
    JOURNAL,
    EXPORT,
    IMPORT,
    DELETE_ACCOUNT,
    APPLY_RETENTION,
    SETUP_LINK,
    LIST_USERS,
    REMOVE_USER,
  ],
  ...WEBHOOK_COMMANDS,
  ...[BACKUP, RESTORE, VACUUM],
  COPY,
  CAPACITY,
  completionCommand(() => COMMANDS),
  VERSION,
];

/**
 * Runs one command (`argv` without program and script). Resolves with the exit code and never
 * rejects. A command without progress fails at its deadline, but its pending call may keep the
 * process running.
 */
export async function runCtl(argv: readonly string[], io: CtlIo): Promise<number> {
  try {
    const read = readCommandLine(argv, COMMANDS);
    if (read.kind === 'help') {
      (read.isAsked ? io.out : io.err)(read.text);
      return read.isAsked ? EXIT.done : EXIT.usage;
    }
    const { command, values } = read;
    const chosenMs = values.timeout === undefined ? undefined : Number(values.timeout) * 1_000;
    const silentMsMax = chosenMs ?? command.silentMsMax ?? SILENT_MS_MAX;
    const deadline = new Deadline(io.clock, silentMsMax);
    const { data, text, exitCode = EXIT.done } = await deadline.bound(ran(read, deadline, io));
    const printed = values.json ? escapedJson(data) : escapedText(text);
    if (printed !== '') io.out(printed);
    return exitCode;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    io.err(`ctl: ${escapedText(text.replaceAll('\n', ' '))}`);
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CtlError) return error.exitCode;
  return toFault(error).code === 'not_found' ? EXIT.notFound : EXIT.failure;
}

async function ran(
  { command, args, values }: Chosen,
  deadline: Deadline,
  io: CtlIo,
): Promise<Printout> {
  const terminal = terminalOf(values.json === true, deadline, io);
  switch (command.kind) {
    case 'account': {
      const admin = adminClient(values.admin ?? io.adminUrl, io.adminTokenFile);
      return await command.run(deadline.watched(admin), args, values, terminal);
    }
    case 'planning':
      return command.run(values, args);
    case 'file': {
      const file = await io.openFile();
      return await command.run(deadline.watched(file), args, values, terminal);
    }
    case 'stores': {
      const places = deadline.watched(await io.openPlaces());
      return await command.run(places, args, values, terminal);
    }
    case 'cluster': {
      const cluster = await io.openCluster();
      deadline.progressed();
      try {
        return await command.run(deadline.watched(cluster), args, values, terminal);
      } finally {
        await closed(cluster, io.clock);
      }
    }
  }
}

/**
 * Closes the ports of a command. Errors and timeouts are ignored: the command's result is already
 * known.
 */
async function closed(opened: AsyncDisposable, clock: Clock): Promise<void> {
  const closing = Promise.resolve(opened[Symbol.asyncDispose]());
  await withinMs(clock, CLOSING_MS_MAX, closing).catch(() => undefined);
}

/**
 * Builds the terminal of a command. Every line is escaped, and counts as progress for the deadline.
 */
function terminalOf(isJson: boolean, deadline: Deadline, io: CtlIo): CommandTerminal {
  const { ask } = io;
  const line = (print: (text: string) => void) => (text: string) => {
    deadline.progressed();
    print(escapedText(text));
  };
  return {
    report: line(isJson ? () => undefined : io.out),
    warn: line(io.err),
    write: (text) => deadline.paused(() => io.write(text)),
    ask: ask && ((question) => deadline.paused(() => ask(escapedText(question)))),
  };
}
