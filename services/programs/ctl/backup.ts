import { type CommandTerminal, CtlError, type FileCommand } from '#ctl/command';
import { YES } from '#ctl/command-line';
import { unfinishedFile } from '#ctl/output';
import { confirm, counted, Progress, percentOf } from '#ctl/printed-text';
import type { Clock } from '#stdlib/clock';
import type { FileContents, WatchWork } from '#storage/ports/data-file';

/** `ctl backup`: copies the data file while a process serves the file. */
export const BACKUP: FileCommand = {
  kind: 'file',
  words: ['backup'],
  summary: 'back up the file while a process serves it',
  description:
    'Writes a consistent copy of the file into a new file, while the service runs. Checks every page and row of the copy before the copy gets its name.',
  args: [{ name: 'new file', about: 'path of the backup; no file may exist there' }],
  options: {},
  async run({ file, clock, interrupted }, [path = ''], _values, terminal) {
    await using unfinished = await unfinishedFile(path);
    const watch = watchOf(clock, interrupted, terminal);
    const contents = await file.backup(unfinished.path, watch);
    await unfinished.keep();
    return { data: { file: path, ...dataOf(contents) }, text: `done: ${textOf(contents)}` };
  },
};

/** `ctl restore`: replaces the data file with a backup. */
export const RESTORE: FileCommand = {
  kind: 'file',
  words: ['restore'],
  summary: 'replace the file by a backup',
  description:
    'Checks a backup and replaces the file by a copy of the backup. Keeps the old file under another name. No process may serve the file.',
  args: [{ name: 'backup', about: 'file that `ctl backup` wrote' }],
  options: {
    yes: YES,
    'without-wal': { about: 'take a copy of an open file that lacks its -wal' },
  },
  async run({ file, clock, interrupted }, [path = ''], values, terminal) {
    const { yes = false, 'without-wal': isWithoutWal = false } = values;
    const watch = watchOf(clock, interrupted, terminal);
    await using backup = await file.openBackup(path, watch, isWithoutWal);
    const { contents, replaces } = backup;
    if (replaces && !yes) await confirm({ ...QUESTION, expected: file.path }, terminal.ask);
    const kept = await backup.place();
    const data = { file: file.path, kept, ...dataOf(contents) };
    const lines = [
      `done: ${file.path} has ${textOf(contents)}`,
      ...(kept === undefined ? [] : [`The old file is ${kept}: remove it when you are sure.`]),
    ];
    return { data, text: lines.join('\n') };
  },
};

/** `ctl vacuum`: rewrites the data file without unused space. */
export const VACUUM: FileCommand = {
  kind: 'file',
  words: ['vacuum'],
  summary: 'shrink the file while no process serves it',
  description:
    'Rewrites the file without the space of deleted rows, checks the result and shows the size before and after. No process may serve the file.',
  args: [],
  options: {},
  async run({ file, clock, interrupted }, _args, _values, terminal) {
    const sizes = await file.vacuum(watchOf(clock, interrupted, terminal));
    const data = { file: file.path, bytes_before: sizes.before, bytes_after: sizes.after };
    return { data, text: `done: ${sizes.before} bytes before, ${sizes.after} bytes after` };
  },
};

const QUESTION = {
  warning: 'All changes after the backup are lost.',
  what: 'The path of the file',
  purpose: 'to put the backup in its place',
  otherwise: 'the path does not match: nothing was changed',
} as const;

/** Reports progress. Throws a `CtlError` if the user interrupts the command. */
function watchOf(
  clock: Pick<Clock, 'monotonicMs'>,
  interrupted: AbortSignal,
  { warn }: CommandTerminal,
): WatchWork {
  const progress = new Progress(clock, warn);
  return (work, doneBytes, allBytes) => {
    if (interrupted.aborted) throw new CtlError('interrupted: nothing was changed');
    progress.at(() => `${work}: ${percentOf(doneBytes, allBytes)} % of ${allBytes} bytes`);
  };
}

function dataOf({ accounts, instances, journalGroups: journal_groups, bytes }: FileContents) {
  return { accounts, instances, journal_groups, bytes };
}

function textOf({ accounts, instances, journalGroups, bytes }: FileContents): string {
  const stored = `${counted(accounts, 'account')}, ${counted(instances, 'instance')}`;
  const groups = counted(journalGroups, 'group');
  return `${stored}, ${groups} of the journal, ${counted(bytes, 'byte')}`;
}
