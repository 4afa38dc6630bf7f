import { accessSync, constants, existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { openConnection } from '#storage/sqlite/connection';
import { hasReleased } from '#storage/sqlite/disk-room';
import { takeFile } from '#storage/sqlite/file-owner';
import {
  knownFileVersions,
  migrateFile,
  versionOf,
  versionOfFile,
} from '#storage/sqlite/file-schema';
import { makeFile, makeFolderOf } from '#storage/sqlite/private-file';
import { RESULT, resultCodeOf } from '#storage/sqlite/result-code';
import { SqliteFile, type SqliteFileOptions } from '#storage/sqlite/sqlite-file';
import { UnusableFile, unusable } from '#storage/sqlite/unusable-file';
import { assertWalWhole, assertWhole } from '#storage/sqlite/whole-file';

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
  taking.use(takeFile(file, clock));
  assertWhole(file);
  assertWalWhole(file);
  prepare(file, (database) => migrateFile(database, file));
  const taken = taking.move();
  return new SqliteFile(options, () => taken.dispose());
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
    prepare(file, (database) => {
      const version = versionOf(database, file);
      const known = knownFileVersions().length;
      if (version === known) return;
      throw new UnusableFile(
        `${file} has tables of version ${version}, and this program reads version ${known}`,
      );
    });
    return new SqliteFile(options);
  });
}

/** Uses a connection of its own, before there are threads; the file of another program stays as it is. */
function prepare(file: string, use: (database: DatabaseSync) => void): void {
  versionOfFile(file);
  const database = openConnection(file);
  try {
    use(database);
  } finally {
    database.close();
  }
}

/** What `open` answers. What the system or SQLite refuses with becomes one line. */
function usable(file: string, open: () => SqliteFile): SqliteFile {
  try {
    return open();
  } catch (error) {
    throw unusable(file, error);
  }
}
