import { closeSync, existsSync, openSync, realpathSync, statSync } from 'node:fs';
import type { Clock } from '#platform/clock';
import type { CheckedBackup, DataFile, FileContents, WatchWork } from '#storage/data-file';
import { checkFile } from '#storage/sqlite/check-file';
import { openConnection } from '#storage/sqlite/connection';
import { copyBytes, copyCommitted } from '#storage/sqlite/copy-file';
import { assertNotReplaced, ownerFileOf } from '#storage/sqlite/file-owner';
import { assertKnown, markClosed, versionOfFile } from '#storage/sqlite/file-schema';
import { holdFile, holdFileThere } from '#storage/sqlite/held-file';
import { markFileClosed, placeFile, removeFile, takeInWal } from '#storage/sqlite/placed-file';
import { FILE_MODE, makeFolderOf } from '#storage/sqlite/private-file';
import { UnusableFile, unusable } from '#storage/sqlite/unusable-file';
import { assertWhole, walOf } from '#storage/sqlite/whole-file';

/** The whole of an SQLite file. */
export function sqliteDataFile(path: string, clock: Pick<Clock, 'wallMs'>): DataFile {
  return {
    path,
    backup: (target, watch) => saidOf(path, () => backUp(path, target, watch)),
    openBackup: (backup, watch, isWithoutWal = false) =>
      saidOf(backup, () => openBackup({ file: path, backup, isWithoutWal }, clock, watch)),
    vacuum: (watch) => saidOf(path, () => vacuum(path, clock, watch)),
  };
}

async function backUp(file: string, target: string, watch: WatchWork): Promise<FileContents> {
  assertOwn(file);
  await copyCommitted(file, target, watch);
  return await checkFile(target, watch);
}

/** Throws `UnusableFile` unless it is a file of this program. */
function assertOwn(file: string): void {
  if (!existsSync(file)) throw new UnusableFile(`${file} is not there`);
  assertNotReplaced(file);
  assertWhole(file);
  const version = versionOfFile(file);
  if (version === 0) throw new UnusableFile(`${file} has no tables`);
  assertKnown(version, file);
}

/** Which backup is restored to which file, and whether the backup may lack its WAL. */
type BackupChoice = {
  readonly file: string;
  readonly backup: string;
  readonly isWithoutWal: boolean;
};

async function openBackup(
  { file, backup, isWithoutWal }: BackupChoice,
  clock: Pick<Clock, 'wallMs'>,
  watch: WatchWork,
): Promise<CheckedBackup> {
  if (!existsSync(backup)) throw new UnusableFile(`${backup} is not there`);
  const replaces = existsSync(file);
  if (replaces && realpathSync(backup) === realpathSync(file)) {
    throw new UnusableFile(`${backup} is the file itself`);
  }
  assertWhole(backup, isWithoutWal);
  makeFolderOf(file);
  await using opening = new AsyncDisposableStack();
  opening.use(holdFile(file, clock));
  // A file that was served is a backup too once nothing serves it.
  if (existsSync(ownerFileOf(backup))) opening.use(holdFile(backup, clock));
  const copy = `${file}.restoring`;
  opening.defer(() => removeFile(copy));
  await copyBytes(backup, copy, watch);
  if (existsSync(walOf(backup))) {
    await copyBytes(walOf(backup), walOf(copy), () => undefined);
    takeInWal(copy);
  } else if (isWithoutWal) markFileClosed(copy);
  const contents = await checkFile(copy, watch).catch((error: unknown) => {
    if (error instanceof UnusableFile) throw new UnusableFile(error.message.replace(copy, backup));
    throw error;
  });
  const opened = opening.move();
  return {
    contents,
    replaces,
    async place() {
      const stamp = new Date(clock.wallMs()).toISOString().replaceAll(':', '');
      const kept = replaces ? `${file}.before-${stamp}` : undefined;
      placeFile(copy, file, kept);
      return kept;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function vacuum(file: string, clock: Pick<Clock, 'wallMs'>, watch: WatchWork) {
  using _held = holdFileThere(file, clock);
  assertOwn(file);
  const copy = `${file}.vacuumed`;
  try {
    removeFile(copy);
    // Exclusive: what another one put there would have its owner and its mode.
    closeSync(openSync(copy, 'wx', FILE_MODE));
    const database = openConnection(file);
    try {
      markClosed(database);
      database.prepare('VACUUM INTO ?').run(copy);
    } finally {
      database.close();
    }
    await checkFile(copy, watch);
    const sizes = { before: statSync(file).size, after: statSync(copy).size };
    placeFile(copy, file, undefined);
    return sizes;
  } finally {
    removeFile(copy);
  }
}

/** What the work answers; what the system or SQLite refuses with is one line about the file. */
async function saidOf<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unusable(file, error);
  }
}
