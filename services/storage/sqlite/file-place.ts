import { statSync } from 'node:fs';
import type { FileIdentity } from '#storage/sqlite/database';
import { MOVED_RESULT } from '#storage/sqlite/failures';
import { walOf } from '#storage/sqlite/wal';

/** What lies at the path of a file, and at the path of its WAL; empty texts where nothing lies. */
export function identityAt(path: string): FileIdentity {
  return { file: inodeAt(path), wal: inodeAt(walOf(path)) };
}

/** The place of an open file: compares what is open with what lies at its path. */
export class FilePlace {
  readonly #path: string;
  readonly #opened: FileIdentity;
  #isAway = false;

  constructor(path: string, opened: FileIdentity) {
    this.#path = path;
    this.#opened = opened;
  }

  /** Whether the last look found another file, or none, at the path. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Looks; undefined: the open file and its WAL lie where they were opened. Else the difference. */
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

  /** Throws an error with a result code of SQLite where the open file is not at its path any more. */
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
    // A folder of the path cannot be entered any more.
    return '';
  }
}
