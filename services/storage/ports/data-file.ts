/** Notified between portions of long work of how many bytes are done; what it throws ends the work. */
export type WatchWork = (work: 'copied' | 'checked', doneBytes: number, allBytes: number) => void;

/** What a whole file holds. */
export type FileContents = {
  readonly accounts: number;
  /** Those that are stored; the newest may stand in the journals alone. */
  readonly instances: number;
  /** Groups of records in the journals. */
  readonly journalGroups: number;
  readonly bytes: number;
};

/** A backup that is copied and checked, and not in its place yet. Disposing it removes the copy. */
export interface CheckedBackup extends AsyncDisposable {
  readonly contents: FileContents;
  /** Whether it takes the place of another file. */
  readonly replaces: boolean;
  /** Puts it in its place; fulfils with the path under which the file that was there is kept. */
  place(): Promise<string | undefined>;
}

/**
 * The file that one process keeps all data in, as a whole. Methods reject with an error whose message is
 * one line about the file.
 */
export interface DataFile {
  readonly path: string;
  /**
   * Writes all that is committed at one moment into a file that is there and empty, while the service
   * goes on, and checks every page and row of it. Rejects when something is damaged.
   */
  backup(target: string, watch: WatchWork): Promise<FileContents>;
  /**
   * Copies a backup beside the file and checks it; the file is kept from being served until the answer
   * is disposed. Rejects while a process serves it, and for what is no sound backup, with nothing changed.
   * `isWithoutWal`: takes a copy of an open file that lacks its WAL, without what was committed last.
   */
  openBackup(backup: string, watch: WatchWork, isWithoutWal?: boolean): Promise<CheckedBackup>;
  /** Writes the file again without the room that deleted rows left. Rejects while a process serves it. */
  vacuum(watch: WatchWork): Promise<{ readonly before: number; readonly after: number }>;
}
