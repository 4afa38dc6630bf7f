import { accessSync, constants, existsSync } from 'node:fs';
import { hasReleased } from '#storage/sqlite/disk-room';
import { RESULT, resultCodeOf, UnusableFile, unusable } from '#storage/sqlite/failures';
import { SqliteFile, type SqliteFileOptions } from '#storage/sqlite/file';
import { assertNotReplaced, takeFile } from '#storage/sqlite/file-lock';
import { identityAt } from '#storage/sqlite/file-place';
import { assertOneName, makeFile, makeFolderOf } from '#storage/sqlite/paths';
import {
  knownFileVersions,
  markClosed,
  markOpen,
  migrateFile,
  versionOfFile,
} from '#storage/sqlite/schema';
import { openConnection } from '#storage/sqlite/tables';
import { assertWalWhole, assertWhole } from '#storage/sqlite/wal';

/**
 * Opens a file for the process that serves it, and locks the file until disposal. Creates the file
 * and its folder if missing, with access for the process's user only. Migrates the tables. Throws
 * `UnusableFile`.
 */
export function openServedFile(options: SqliteFileOptions): SqliteFile {
  return usable(options.file, () => {
    try {
      return served(options);
    } catch (error) {
      // The disk is full and a start needs some space. Delete the reserve and try again.
      const isFull = resultCodeOf(error) === RESULT.full;
      if (!isFull || !hasReleased(options.file)) throw error;
      return served(options);
    }
  });
}

function served(options: SqliteFileOptions): SqliteFile {
  const { file, clock } = options;
  makeFolderOf(file);
  makeFile(file);
  // Without write access, SQLite would open the file read-only, and every write would be retried.
  accessSync(file, constants.R_OK | constants.W_OK);
  using taking = new DisposableStack();
  assertOneName(file);
  assertNotReplaced(file);
  taking.use(takeFile(file, clock));
  assertWhole(file);
  assertWalWhole(file);
  versionOfFile(file);
  // No other connection is open, so the close checkpoints the whole WAL into the file.
  const database = openConnection(file);
  try {
    migrateFile(database, file);
    markClosed(database);
  } finally {
    database.close();
  }
  const keeper = openConnection(file);
  taking.defer(() => {
    if (keeper.isOpen) keeper.close();
  });
  markOpen(keeper);
  const opened = identityAt(file);
  const taken = taking.move();
  return new SqliteFile(options, {
    opened,
    close: () => keeper.close(),
    release: () => taken.dispose(),
  });
}

/**
 * Opens a file for a tool, even while another process serves the file. Throws `UnusableFile`, also
 * if the file is missing or has tables of another version.
 */
export function openFileOfTool(options: SqliteFileOptions): SqliteFile {
  const { file } = options;
  return usable(file, () => {
    if (!existsSync(file)) throw new UnusableFile(`${file} does not exist`);
    assertWhole(file);
    assertNotReplaced(file);
    const version = versionOfFile(file);
    const known = knownFileVersions().length;
    if (version !== known) {
      throw new UnusableFile(
        `${file} has tables of version ${version}, and this program reads version ${known}`,
      );
    }
    return new SqliteFile(options);
  });
}

/** Runs `open`. Turns an error of the system or of SQLite into one line about the file. */
function usable(file: string, open: () => SqliteFile): SqliteFile {
  try {
    return open();
  } catch (error) {
    throw unusable(file, error);
  }
}
