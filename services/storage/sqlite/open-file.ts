import { accessSync, constants, existsSync } from 'node:fs';
import { hasReleased } from '#storage/sqlite/disk-room';
import { RESULT, resultCodeOf, UnusableFile, unusable } from '#storage/sqlite/failures';
import { SqliteFile, type SqliteFileOptions } from '#storage/sqlite/file';
import { identityAt } from '#storage/sqlite/file-place';
import { assertNotReplaced, takeFile } from '#storage/sqlite/owner';
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
 * Opens a file for the process that serves it, and holds it until it is disposed: nothing else serves
 * it meanwhile. Makes it and its folder where they are not there, for this user alone, and brings its
 * tables up to date. Throws `UnusableFile`.
 */
export function openServedFile(options: SqliteFileOptions): SqliteFile {
  return usable(options.file, () => {
    try {
      return served(options);
    } catch (error) {
      // A start needs a little room: it is reserved for what must go on without.
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
  // SQLite would open it to read alone, and every write would be tried again and again.
  accessSync(file, constants.R_OK | constants.W_OK);
  using taking = new DisposableStack();
  assertOneName(file);
  assertNotReplaced(file);
  taking.use(takeFile(file, clock));
  assertWhole(file);
  assertWalWhole(file);
  versionOfFile(file);
  // This connection closes alone: everything is in the file then, and nothing in a WAL.
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
 * Opens a file for a tool, beside the process that may serve it. Throws `UnusableFile`, also when it is
 * not there or has tables of another version.
 */
export function openFileOfTool(options: SqliteFileOptions): SqliteFile {
  const { file } = options;
  return usable(file, () => {
    if (!existsSync(file)) throw new UnusableFile(`${file} is not there`);
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

/** What `open` answers. What the system or SQLite refuses with becomes one line. */
function usable(file: string, open: () => SqliteFile): SqliteFile {
  try {
    return open();
  } catch (error) {
    throw unusable(file, error);
  }
}
