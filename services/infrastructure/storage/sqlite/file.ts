import assert from 'node:assert/strict';
import type { Worker } from 'node:worker_threads';
import { Fault } from '#errors/fault';
import { type Clock, withinMs } from '#stdlib/clock';
import { statementDurations } from '#storage/ports/schema-versions';
import type {
  FileIdentity,
  Query,
  Row,
  SqliteDatabase,
  ThreadAnswer,
  ThreadData,
  ThreadFailure,
  ThreadRequest,
  ThreadWork,
  Transaction,
} from '#storage/sqlite/database';
import {
  explainedResult,
  type FileErrorType,
  failureLine,
  RESULT,
  UnusableFile,
} from '#storage/sqlite/failures';
import { FilePlace } from '#storage/sqlite/file-place';
import { newThread } from '#storage/sqlite/spare-threads';
import type { Metrics } from '#telemetry/metrics';

/** Failure of a request: the name of the result code, and a line for operators. */
type FileFailure = { readonly name: string; readonly line: string };

/** Called after every request with its operation, its duration in seconds, and its failure. */
export type ObserveRequest = (
  operation: string,
  seconds: number,
  errorType: FileErrorType | 'timeout' | undefined,
  failure?: FileFailure,
) => void;

/** Timeout of a long query, in milliseconds. */
const LONG_MS_MAX = 5 * 60 * 1_000;

/** Timeout of the check, in milliseconds: more than any file takes. */
const CHECK_MS_MAX = 24 * 60 * 60 * 1_000;

/** Options for opening a file. */
export type SqliteFileOptions = {
  readonly file: string;
  readonly clock: Clock;
  readonly observe?: ObserveRequest | undefined;
};

/** Resources that the process serving a file holds besides its threads. */
type ServedConnection = {
  readonly opened: FileIdentity;
  /**
   * Closes the connection that keeps the WAL and the open mark. Called before the threads close.
   */
  close(): void;
  /** Releases the lock on the file. Called after all connections are closed. */
  release(): void;
};

/**
 * SQLite file with its threads: a writer, a reader, and a reader for long queries. With separate
 * threads, no read waits for an `fsync`. Disposal commits the waiting transactions and closes the
 * file.
 */
export class SqliteFile implements SqliteDatabase, AsyncDisposable {
  readonly #writer: FileThread;
  readonly #reader: FileThread;
  readonly #clock: Clock;
  readonly #observe: ObserveRequest | undefined;
  readonly #file: string;
  #opened: FileThread | undefined;
  #isClosing = false;
  readonly #served: ServedConnection | undefined;
  /** Expected place of the file; undefined in a tool. */
  readonly place: FilePlace | undefined;

  /**
   * The file must exist and have its tables (`open-file.ts`). `served`: set in the process that
   * serves the file.
   */
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
    this.#isClosing = true;
    // The writer closes last, because the last connection checkpoints and removes the WAL.
    await using closing = new AsyncDisposableStack();
    const close = (thread: FileThread | undefined) =>
      closing.defer(async () => void (await thread?.ask({ kind: 'close' })));
    closing.defer(() => this.#served?.release());
    close(this.#writer);
    close(this.#reader);
    closing.defer(() => this.#served?.close());
    close(this.#opened);
  }

  /**
   * Checks that every page of a table or an index can be read and has a valid structure. For many
   * gigabytes that are not in the page cache, this takes minutes. Closing the file ends the check.
   * Rejects with `UnusableFile` if a page is damaged. Unlike `quick_check` of a backup, the check
   * compares no page with other pages, and reads no values.
   */
  async check(): Promise<void> {
    let failure: ThreadFailure | undefined;
    try {
      const answer = await this.#longReader.ask({ kind: 'check' }, CHECK_MS_MAX);
      assert(answer.kind === 'rows');
      const [damaged] = answer.rows;
      if (damaged === undefined) return;
      const message = `damaged page: page ${damaged[1]} of ${damaged[0]}`;
      failure = { code: RESULT.corrupt, message, isOutcomeUnknown: false };
    } catch (error) {
      if (this.#isClosing) return;
      if (!(error instanceof ThreadRefusal)) throw error;
      failure = error.failure;
    }
    throw new UnusableFile(failureLine(this.#file, failure));
  }

  /** Thread for long queries and the check, started on first use. */
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

/** Maximum number of requests that wait for a thread. More than its users have in flight. */
const WAITING_MAX = 4_096;

/**
 * Timeout of a request, in milliseconds. A disk that does not answer in this time is treated as
 * failed.
 */
const ANSWER_MS_MAX = 10_000;

/** Rejection of a request that failed in the thread. */
class ThreadRefusal extends Error {
  override readonly name = 'ThreadRefusal';
  readonly failure: ThreadFailure;

  constructor(failure: ThreadFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * Client, on the event loop, of one file thread. Sends requests and matches answers by their ids.
 */
class FileThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, PromiseWithResolvers<ThreadAnswer>>();
  #lastId = 0;
  #ended: Error | undefined;

  constructor(data: ThreadData, clock: Clock) {
    this.#clock = clock;
    this.#worker = newThread();
    this.#worker.on('message', (answer: ThreadAnswer) => this.#take(answer));
    this.#worker.on('error', (error: Error) => {
      this.#end(error);
      // A bug, or out of memory. The process ends, and after its restart finds every answered write
      // on disk.
      throw error;
    });
    this.#worker.on('exit', () => this.#end(new Error('the thread of the file has ended')));
    this.#worker.postMessage(data);
    // A listener of messages keeps the process alive.
    this.#worker.unref();
  }

  /**
   * Sends a request and returns its answer. Rejects with `ThreadRefusal` if the request fails.
   * Rejects with `service_unavailable` if no answer arrives in time, if the thread has ended, or if
   * too many requests wait.
   */
  async ask(work: ThreadWork, timeoutMs: number = ANSWER_MS_MAX): Promise<ThreadAnswer> {
    if (this.#ended !== undefined) throw unanswered(false, this.#ended);
    if (this.#waiting.size >= WAITING_MAX)
      throw unanswered(false, new Error('too many requests wait'));
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = Promise.withResolvers<ThreadAnswer>();
    // Only waiting requests keep the process alive.
    if (this.#waiting.size === 0) this.#worker.ref();
    this.#waiting.set(id, answer);
    const request: ThreadRequest = { ...work, id };
    this.#worker.postMessage(request);
    const late = () => unanswered(true, new Error(`no answer in ${timeoutMs} ms`));
    return await withinMs(this.#clock, timeoutMs, answer.promise, late);
  }

  #take(answer: ThreadAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (answer.kind === 'failed') waiting?.reject(new ThreadRefusal(answer.failure));
    else waiting?.resolve(answer);
  }

  #end(why: Error): void {
    this.#ended ??= why;
    for (const { reject } of this.#waiting.values()) reject(unanswered(true, why));
    this.#waiting.clear();
  }
}

function unanswered(isOutcomeUnknown: boolean, cause: Error): Fault {
  const options = { retryAfterS: 1, isOutcomeUnknown, cause };
  return new Fault('service_unavailable', 'the store gives no answer', options);
}

/** Callbacks for failed requests. */
type FailureNotices = {
  /** A request found the disk full. */
  readonly onFull: () => void;
  /** SQLite failed with the result code `name`. `line` is for operators. */
  readonly onFailure: (name: string, line: string) => void;
};

/** Returns an observer that times every request and reports failures to `notices`. */
export function requestObserver(metrics: Metrics, notices: FailureNotices): ObserveRequest {
  const observe = statementDurations(metrics, 'sqlite');
  return (operation, seconds, errorType, failure) => {
    observe(operation, seconds, errorType);
    if (errorType === 'full') notices.onFull();
    if (failure !== undefined) notices.onFailure(failure.name, failure.line);
  };
}

const SAID: Record<Exclude<FileErrorType, 'corrupt' | 'refused'>, string> = {
  full: 'the disk is full',
  busy: 'another program writes to the file',
  io: 'the file cannot be written or read',
};

/** Error type of a failure, by its result code. */
function fileErrorType({ code }: ThreadFailure): FileErrorType {
  return explainedResult(code).type;
}

/**
 * Fault for a failure: `internal` if the file is damaged or SQLite refuses the statement, else
 * `service_unavailable`.
 */
function faultOfFailure(file: string, failure: ThreadFailure): Fault {
  const { isOutcomeUnknown } = failure;
  const line = failureLine(file, failure);
  const type = fileErrorType(failure);
  if (type === 'corrupt' || type === 'refused') {
    return new Fault('internal', 'internal error', { cause: new UnusableFile(line) });
  }
  return new Fault('service_unavailable', SAID[type], {
    retryAfterS: 1,
    isOutcomeUnknown,
    cause: new Error(line),
  });
}
