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
  summary: 'back up the data file while the service runs',
  description:
    'Writes a consistent backup of the data file to a new file while the service runs. Checks every page and row before the backup gets its final name.',
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
  summary: 'replace the data file with a backup',
  description:
    'Checks a backup and replaces the data file with a copy. Keeps the old file under another name. Stop the service first.',
  args: [{ name: 'backup', about: 'file that `ctl backup` wrote' }],
  options: {
    yes: YES,
    'without-wal': {
      about: 'accept a copy of an open file without its -wal file; the last commits are lost',
    },
  },
  async run({ file, clock, interrupted }, [path = ''], values, terminal) {
    const { yes = false, 'without-wal': isWithoutWal = false } = values;
    const watch = watchOf(clock, interrupted, terminal);
    await using backup = await file.openBackup(path, watch, isWithoutWal);
    const { contents, replaces } = backup;
    if (replaces && !yes) await confirm(questionAbout(file.path), terminal.ask);
    const kept = await backup.place();
    const data = { file: file.path, kept, ...dataOf(contents) };
    const lines = [
      `done: ${file.path} has ${textOf(contents)}`,
      ...(kept === undefined
        ? []
        : [`Old file: ${kept}. Remove the old file once the service works.`]),
    ];
    return { data, text: lines.join('\n') };
  },
};

/** `ctl vacuum`: rewrites the data file without unused space. */
export const VACUUM: FileCommand = {
  kind: 'file',
  words: ['vacuum'],
  summary: 'shrink the data file while the service is stopped',
  description:
    'Rewrites the data file without the space of deleted rows, checks the result, and shows the size before and after. Stop the service first.',
  args: [],
  options: {},
  async run({ file, clock, interrupted }, _args, _values, terminal) {
    const sizes = await file.vacuum(watchOf(clock, interrupted, terminal));
    const data = { file: file.path, bytes_before: sizes.before, bytes_after: sizes.after };
    return { data, text: `done: ${sizes.before} bytes before, ${sizes.after} bytes after` };
  },
};

function questionAbout(path: string) {
  return {
    warning: `All changes to ${path} after the backup will be lost.`,
    ...{ what: 'this path', expected: path, purpose: 'to replace the file with the backup' },
    otherwise: 'the path does not match: nothing was changed',
  };
}

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
  return `${stored}, ${counted(journalGroups, 'journal group')}, ${counted(bytes, 'byte')}`;
}
