import assert from 'node:assert/strict';
import type { Clock } from '#platform/clock';
import type { Query, Row, SqliteDatabase, Transaction } from '#storage/sqlite/database';
import { faultOfFailure, fileErrorType } from '#storage/sqlite/failure';
import { type FileIdentity, FilePlace } from '#storage/sqlite/file-place';
import { FileThread, ThreadRefusal } from '#storage/sqlite/file-thread';
import {
  explainedResult,
  type FileErrorType,
  failureLine,
  RESULT,
} from '#storage/sqlite/result-code';
import type { ThreadAnswer } from '#storage/sqlite/thread-messages';
import { UnusableFile } from '#storage/sqlite/unusable-file';

/** Why a request failed: name of the result code, and a line for operators. */
type FileFailure = { readonly name: string; readonly line: string };

/** Notified of every request: its operation, seconds, and why it failed. */
export type ObserveRequest = (
  operation: string,
  seconds: number,
  errorType: FileErrorType | 'timeout' | undefined,
  failure?: FileFailure,
) => void;

/** How long a look at many rows may take, in milliseconds. */
const LONG_MS_MAX = 5 * 60 * 1_000;

/** What an open file needs. */
export type SqliteFileOptions = {
  readonly file: string;
  readonly clock: Clock;
  readonly observe?: ObserveRequest | undefined;
};

/** What the process that serves a file has beside its threads. */
export type ServedConnection = {
  readonly opened: FileIdentity;
  /** Closes the connection that keeps the WAL and the mark; before the threads close. */
  close(): void;
  /** Lets others serve the file; called once nothing uses it. */
  release(): void;
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
  readonly #served: ServedConnection | undefined;
  /** Where the file must lie; undefined in a tool. */
  readonly place: FilePlace | undefined;

  /** The file is there and has its tables (`open-file`); `served` for the process that serves it. */
  constructor({ file, clock, observe }: SqliteFileOptions, served?: ServedConnection) {
    this.#served = served;
    const opened = served?.opened;
    this.place = opened && new FilePlace(file, opened);
    this.#clock = clock;
    this.#observe = observe;
    this.#file = file;
    const closes = served === undefined ? 'tool' : 'served';
    this.#writer = new FileThread({ file, opened, closes }, clock);
    this.#reader = new FileThread({ file, opened }, clock);
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
    closing.defer(() => this.#served?.release());
    for (const thread of [this.#writer, this.#reader, this.#opened]) {
      if (thread !== undefined)
        closing.defer(async () => void (await thread.ask({ kind: 'close' })));
    }
    closing.defer(() => this.#served?.close());
  }

  /**
   * Reads every page, in a thread of its own. Rejects with `UnusableFile` where one is damaged; `work`
   * may take minutes for a file of many gigabytes.
   */
  async check(): Promise<void> {
    const opened = this.#served?.opened;
    const thread = new FileThread({ file: this.#file, opened }, this.#clock);
    try {
      const query = { operation: 'quick_check', sql: 'PRAGMA quick_check(1)', values: [] };
      const answer = await thread.ask({ kind: 'read', query }, LONG_MS_MAX);
      assert(answer.kind === 'rows');
      const found = String(answer.rows[0]?.[0]);
      if (found === 'ok') return;
      throw new UnusableFile(
        failureLine(this.#file, { code: RESULT.corrupt, message: `damaged page: ${found}` }),
      );
    } catch (error) {
      if (!(error instanceof ThreadRefusal)) throw error;
      throw new UnusableFile(failureLine(this.#file, error.failure), { cause: error });
    } finally {
      await thread.ask({ kind: 'close' });
    }
  }

  /** Opened by the first that needs it. */
  get #longReader(): FileThread {
    const opened = this.#served?.opened;
    this.#opened ??= new FileThread({ file: this.#file, opened }, this.#clock);
    return this.#opened;
  }

  async #timed(operation: string, asked: Promise<ThreadAnswer>): Promise<ThreadAnswer> {
    const startedMs = this.#clock.monotonicMs();
    const observe = (errorType: FileErrorType | 'timeout' | undefined, failure?: FileFailure) =>
      this.#observe?.(
        operation,
        (this.#clock.monotonicMs() - startedMs) / 1_000,
        errorType,
        failure,
      );
    try {
      const answer = await asked;
      observe(undefined);
      return answer;
    } catch (error) {
      if (!(error instanceof ThreadRefusal)) {
        observe('timeout');
        throw error;
      }
      const { name } = explainedResult(error.failure.code);
      observe(fileErrorType(error.failure), { name, line: failureLine(this.#file, error.failure) });
      throw faultOfFailure(this.#file, error.failure);
    }
  }
}
