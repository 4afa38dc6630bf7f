/**
 * Called between portions of long work with the bytes done so far. If the function throws an error,
 * the work ends with this error.
 */
export type WatchWork = (work: 'copied' | 'checked', doneBytes: number, allBytes: number) => void;

/** Summary of a data file. */
export type FileContents = {
  readonly accounts: number;
  /** Stored instances. The newest instances may be in the journals only. */
  readonly instances: number;
  /** Groups of records in the journals. */
  readonly journalGroups: number;
  readonly bytes: number;
};

/** Copied and checked backup before it replaces a file. Disposal removes the copy. */
export interface CheckedBackup extends AsyncDisposable {
  readonly contents: FileContents;
  /** Whether the backup replaces another file. */
  readonly replaces: boolean;
  /** Puts the backup at its path. Fulfils with the path of the replaced file, which is kept. */
  place(): Promise<string | undefined>;
}

/**
 * File with all data of one process. Methods reject with an error whose message is one line about
 * the file.
 */
export interface DataFile {
  readonly path: string;
  /**
   * Writes a snapshot of the committed state into the empty file `target`, while the service runs.
   * Then checks every page and every row of the copy. Rejects if any page or row is damaged.
   */
  backup(target: string, watch: WatchWork): Promise<FileContents>;
  /**
   * Copies a backup next to the file and checks the copy. No process can serve the file until the
   * result is disposed. Rejects while a process serves the file, and for a damaged backup; nothing
   * changes then. `isWithoutWal`: accepts a copy of an open file without its WAL; the last commits
   * are then missing.
   */
  openBackup(backup: string, watch: WatchWork, isWithoutWal?: boolean): Promise<CheckedBackup>;
  /**
   * Rewrites the file without the space of deleted rows. Rejects while a process serves the file.
   */
  vacuum(watch: WatchWork): Promise<{ readonly before: number; readonly after: number }>;
}
