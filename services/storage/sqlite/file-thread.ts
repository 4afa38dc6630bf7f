import { Worker } from 'node:worker_threads';
import { Fault } from '#fault/fault';
import { type Clock, withinMs } from '#platform/clock';
import type {
  ThreadAnswer,
  ThreadData,
  ThreadFailure,
  ThreadRequest,
  ThreadWork,
} from '#storage/sqlite/thread-messages';

/** Requests that wait for a thread at most: as many as its users may have under way, and some. Chosen. */
const WAITING_MAX = 4_096;

/** How long a thread may take to answer, in milliseconds: a disk that hangs is one that fails. Chosen. */
const ANSWER_MS_MAX = 10_000;

/** A request that failed, as SQLite said it. */
export class ThreadRefusal extends Error {
  override readonly name = 'ThreadRefusal';
  readonly failure: ThreadFailure;

  constructor(failure: ThreadFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A thread of the file, as the event loop speaks to it. */
export class FileThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, PromiseWithResolvers<ThreadAnswer>>();
  #lastId = 0;
  #ended: Error | undefined;

  constructor(data: ThreadData, clock: Clock) {
    this.#clock = clock;
    this.#worker = new Worker(new URL('thread.ts', import.meta.url), { workerData: data });
    this.#worker.unref();
    this.#worker.on('message', (answer: ThreadAnswer) => this.#take(answer));
    this.#worker.on('error', (error: Error) => {
      this.#end(error);
      // A bug, or no memory: the process ends by it, and what starts it again finds all that was answered.
      throw error;
    });
    this.#worker.on('exit', () => this.#end(new Error('the thread of the file has ended')));
  }

  /**
   * The answer to a request. Rejects with `ThreadRefusal`, and with `service_unavailable` when there is
   * none in time, or too many wait.
   */
  async ask(work: ThreadWork, timeoutMs: number = ANSWER_MS_MAX): Promise<ThreadAnswer> {
    if (this.#ended !== undefined) throw unanswered(false, this.#ended);
    if (this.#waiting.size >= WAITING_MAX) throw unanswered(false, new Error('too many wait'));
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = Promise.withResolvers<ThreadAnswer>();
    // Only what waits for an answer keeps the process alive.
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
