import assert from 'node:assert/strict';
import type { Clock } from '#platform/clock';
import type { Query, Row, SqliteDatabase, Transaction } from '#storage/sqlite/database';
import { type FileErrorType, faultOfFailure, fileErrorType } from '#storage/sqlite/failure';
import { FileThread, ThreadRefusal } from '#storage/sqlite/file-thread';
import type { ThreadAnswer } from '#storage/sqlite/thread-messages';

/** Notified of every request: its operation, seconds, and why it failed. */
export type ObserveRequest = (
  operation: string,
  seconds: number,
  errorType: FileErrorType | 'timeout' | undefined,
) => void;

/** What an open file needs. */
export type SqliteFileOptions = {
  readonly file: string;
  readonly clock: Clock;
  readonly observe?: ObserveRequest | undefined;
};

/**
 * A file with its two threads: one that writes, and one that reads, so that no read waits for an `fsync`.
 * Disposing it writes what waits and closes the file.
 */
export class SqliteFile implements SqliteDatabase, AsyncDisposable {
  readonly #writer: FileThread;
  readonly #reader: FileThread;
  readonly #clock: Clock;
  readonly #observe: ObserveRequest | undefined;

  readonly #onClosed: (() => void) | undefined;

  /** The file is there and has its tables (`open-file`); `onClosed` is called once nothing uses it. */
  constructor({ file, clock, observe }: SqliteFileOptions, onClosed?: () => void) {
    this.#onClosed = onClosed;
    this.#clock = clock;
    this.#observe = observe;
    this.#writer = new FileThread({ file }, clock);
    this.#reader = new FileThread({ file }, clock);
  }

  async read(query: Query): Promise<readonly Row[]> {
    const answer = await this.#timed(query.operation, this.#reader.ask({ kind: 'read', query }));
    assert(answer.kind === 'rows');
    return answer.rows;
  }

  async write(transaction: Transaction): Promise<boolean> {
    const asked = this.#writer.ask({ kind: 'write', transaction });
    const answer = await this.#timed(transaction.operation, asked);
    assert(answer.kind === 'written');
    return answer.isKept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The writer closes last: the last connection copies the WAL back and removes it.
    try {
      for (const thread of [this.#reader, this.#writer]) await thread.ask({ kind: 'close' });
    } finally {
      this.#onClosed?.();
    }
  }

  async #timed(operation: string, asked: Promise<ThreadAnswer>): Promise<ThreadAnswer> {
    const startedMs = this.#clock.monotonicMs();
    const observe = (errorType: FileErrorType | 'timeout' | undefined) =>
      this.#observe?.(operation, (this.#clock.monotonicMs() - startedMs) / 1_000, errorType);
    try {
      const answer = await asked;
      observe(undefined);
      return answer;
    } catch (error) {
      if (!(error instanceof ThreadRefusal)) {
        observe('timeout');
        throw error;
      }
      observe(fileErrorType(error.failure));
      throw faultOfFailure(error.failure);
    }
  }
}
