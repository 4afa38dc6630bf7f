import { statSync } from 'node:fs';
import type { FileIdentity } from '#storage/sqlite/database';
import { MOVED_RESULT } from '#storage/sqlite/failures';
import { walOf } from '#storage/sqlite/wal';

/** Device and inode at the paths of a file and its WAL; an empty text if a path does not exist. */
export function identityAt(path: string): FileIdentity {
  return { file: inodeAt(path), wal: inodeAt(walOf(path)) };
}

/** Compares an open file with the file at its path, to detect a move or a replacement. */
export class FilePlace {
  readonly #path: string;
  readonly #opened: FileIdentity;
  #isAway = false;

  constructor(path: string, opened: FileIdentity) {
    this.#path = path;
    this.#opened = opened;
  }

  /** Whether the last comparison found no file, or another file, at the path. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /**
   * Compares the open file and its WAL with their paths. Returns the difference as a text;
   * undefined if both are in place.
   */
  difference(): string | undefined {
    const { file, wal } = identityAt(this.#path);
    const path = file === this.#opened.file ? walOf(this.#path) : this.#path;
    const found = file === this.#opened.file ? wal : file;
    this.#isAway = file !== this.#opened.file || wal !== this.#opened.wal;
    if (!this.#isAway) return undefined;
    return found === ''
      ? `${path} was moved or removed while it is served`
      : `${path} was replaced by another file while it is served`;
  }

  /**
   * Throws an error with the result code `MOVED_RESULT` if the open file is no longer at its path.
   */
  assertHere(): void {
    const difference = this.difference();
    if (difference === undefined) return;
    throw Object.assign(new Error(difference), { errcode: MOVED_RESULT });
  }
}

function inodeAt(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.dev}:${found.ino}`;
  } catch {
    // A folder of the path can no longer be entered.
    return '';
  }
}
