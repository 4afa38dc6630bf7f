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

/** How long a look at many rows may take, in milliseconds. */
const LONG_MS_MAX = 5 * 60 * 1_000;

/** What an open file needs. */
export type SqliteFileOptions = {
  readonly file: string;
  readonly clock: Clock;
  readonly observe?: ObserveRequest | undefined;
};

/**
 * A file with its threads: one that writes, one that reads, so that no read waits for an `fsync`, and one
 * for what takes long. Disposing it writes what waits and closes the file.
 */
export class SqliteFile implements SqliteDatabase, AsyncDisposable {
  readonly #writer: FileThread;
  readonly #reader: FileThread;
  readonly #clock: Clock;
  readonly #observe: ObserveRequest | undefined;
  readonly #file: string;
  #opened: FileThread | undefined;
  readonly #onClosed: (() => void) | undefined;

  /** The file is there and has its tables (`open-file`); `onClosed` is called once nothing uses it. */
  constructor({ file, clock, observe }: SqliteFileOptions, onClosed?: () => void) {
    this.#onClosed = onClosed;
    this.#clock = clock;
    this.#observe = observe;
    this.#file = file;
    this.#writer = new FileThread({ file }, clock);
    this.#reader = new FileThread({ file }, clock);
  }

  async read(query: Query): Promise<readonly Row[]> {
    const asked = query.isLong
      ? this.#longReader.ask({ kind: 'read', query }, LONG_MS_MAX)
      : this.#reader.ask({ kind: 'read', query });
    const answer = await this.#timed(query.operation, asked);
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
    await using closing = new AsyncDisposableStack();
    closing.defer(() => this.#onClosed?.());
    for (const thread of [this.#writer, this.#reader, this.#opened]) {
      if (thread !== undefined)
        closing.defer(async () => void (await thread.ask({ kind: 'close' })));
    }
  }

  /** Opened by the first that needs it. */
  get #longReader(): FileThread {
    this.#opened ??= new FileThread({ file: this.#file }, this.#clock);
    return this.#opened;
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
