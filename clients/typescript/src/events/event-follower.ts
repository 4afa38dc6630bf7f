import { type Failure, readAttempt } from '../answer.ts';
import { targetOf } from '../calls/call.ts';
import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { Deadline } from '../calls/deadline.ts';
import { reportAttempt } from '../calls/report-attempt.ts';
import { BACKOFF_MS_MAX, mayRepeat, waitMs } from '../calls/retry.ts';
import { MalformedAnswerError, RateLimitedError } from '../errors.ts';
import type { Integers } from '../json.ts';
import type { EventBlock } from './event-block.ts';
import { EventConnection, SILENCE_MS_MAX } from './event-connection.ts';

/** Times of a received event, in monotonic milliseconds. */
export type Arrival = {
  /** Start of the request that opened the stream. */
  readonly beganAtMs: number;
  /** Time at which the event arrived, from which the age of the contract counts. */
  readonly ageFromMs: number;
};

/** Default delay before a reconnect, in milliseconds. */
const RETRY_MS = 1_000;

/** Follower options. */
export type FollowerOptions = Pick<CallOptions, 'requestId' | 'headers'> & {
  readonly after: string | undefined;
};

/** A stream that a follower reads. */
export type StreamSource<E> = {
  /** Path below `/v1`. */
  readonly path: string;
  readonly query?: object;
  /**
   * Event of a block; undefined for a block without an event. Throws if the block is malformed.
   */
  readonly eventOf: (block: EventBlock, integers: Integers) => E | undefined;
  /** Whether the stream ends after this event. */
  readonly isLast: (event: E) => boolean;
};

/** An event with its arrival, and the id for resuming after this event. */
export type Arrived<E> = {
  readonly event: E;
  readonly arrival: Arrival;
  readonly id: string | undefined;
};

/**
 * Follows a stream over one connection at a time and reconnects after the last event. Throws
 * permanent errors: an `ApiError` such as `NotFoundError`, or a `RateLimitedError` with reason
 * `too_many_streams` that lasted for the timeout of a call.
 */
export class EventFollower<E> {
  readonly #caller: Caller;
  readonly #source: StreamSource<E>;
  readonly #options: FollowerOptions;
  readonly #closing = new AbortController();
  readonly #pauses = new Deadline(Number.POSITIVE_INFINITY, this.#closing.signal);
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;
  /** Time of the first refusal with `too_many_streams` since the last success, monotonic. */
  #fullSinceMs: number | undefined;

  constructor(caller: Caller, source: StreamSource<E>, options: FollowerOptions) {
    this.#caller = caller;
    this.#source = source;
    this.#options = options;
    this.#lastEventId = options.after;
  }

  /** Id of the last block that was read, for resuming. A block without an event may have an id. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** Closes the connection; later reads reject. */
  close(): void {
    this.#closing.abort();
  }

  /** Events on demand: a consumer that does not read applies back-pressure to the service. */
  async *events(): AsyncGenerator<Arrived<E>, void> {
    for (let failures = 0; ; ) {
      const opened = await this.#open(failures + 1);
      let wait: number;
      if (opened instanceof EventConnection) {
        try {
          for await (const arrived of this.#eventsOf(opened)) {
            yield arrived;
            if (this.#source.isLast(arrived.event)) return;
          }
        } finally {
          opened.close();
        }
        this.#pauses.throwIfCancelled();
        failures = 0;
        wait = this.#retryMs + waitMs(1, undefined, Math.random);
      } else {
        failures += 1;
        const leastMs = Math.max(this.#retryMs, opened.retryAfterMs ?? 0);
        wait = leastMs + waitMs(failures, undefined, Math.random);
      }
      await this.#pauses.pause(wait);
    }
  }

  async *#eventsOf(connection: EventConnection): AsyncGenerator<Arrived<E>, void> {
    for (;;) {
      const blocks = await connection.next(SILENCE_MS_MAX);
      if (blocks === undefined) return;
      const arrival = { beganAtMs: connection.beganAtMs, ageFromMs: performance.now() };
      for (const block of blocks) {
        this.#pauses.throwIfCancelled();
        const event = this.#take(block);
        if (event !== undefined) yield { event, arrival, id: this.#lastEventId };
      }
    }
  }

  #take(block: EventBlock): E | undefined {
    if (block.retryMs !== undefined) this.#retryMs = Math.min(block.retryMs, RETRY_MS_MAX);
    let event: E | undefined;
    try {
      event = this.#source.eventOf(block, this.#caller.settings.integers);
    } catch {
      const answer = { status: 200, requestId: undefined, text: block.data ?? '' };
      throw new MalformedAnswerError(answer, false);
    }
    if (block.id !== undefined) this.#lastEventId = block.id;
    return event;
  }

  /** Opens a connection, or returns a temporary failure. Throws permanent failures. */
  async #open(attempts: number): Promise<EventConnection | Failure> {
    const { settings } = this.#caller;
    const call = {
      headers: { accept: 'text/event-stream', 'last-event-id': this.#lastEventId },
      options: this.#options,
    };
    const url = settings.baseUrl + targetOf(this.#source);
    const headers = this.#caller.headersOf(call);
    const request = { url, method: 'GET', headers, body: undefined };
    const startedMs = performance.now();
    const facts = { method: 'GET', path: this.#source.path, attempts, startedMs };
    const { attemptTimeoutMs, fetch, integers, onAttempt } = settings;
    const { signal } = this.#closing;
    const opened = await EventConnection.open(fetch, request, attemptTimeoutMs, signal);
    if ('connection' in opened) {
      const { status, headers } = opened.response;
      const requestId = headers.get('x-request-id') ?? undefined;
      reportAttempt(onAttempt, facts, { status, requestId });
      this.#fullSinceMs = undefined;
      return opened.connection;
    }
    const outcome = readAttempt(opened, {
      ...{ isChange: false, wasUnclear: false, attempts, attemptTimeoutMs, integers },
      ...{ emptyStatus: undefined, beganAtMs: startedMs, callBeganAtMs: startedMs },
    });
    if (outcome.kind === 'success') {
      const { status, requestId } = outcome.facts;
      throw new MalformedAnswerError({ status, requestId, text: '' }, false);
    }
    reportAttempt(onAttempt, facts, outcome.error);
    if (!mayRepeat(outcome, 'always') || this.#isFullForLong(outcome)) throw outcome.error;
    return outcome;
  }

  /**
   * Whether too many streams have been open for at least the timeout of a call. Earlier refusals
   * are temporary: the service may still count a broken connection of this stream.
   */
  #isFullForLong({ error }: Failure): boolean {
    const isFull = error instanceof RateLimitedError && error.reason === 'too_many_streams';
    if (!isFull) return false;
    const nowMs = performance.now();
    this.#fullSinceMs ??= nowMs;
    return nowMs - this.#fullSinceMs >= this.#caller.settings.timeoutMs;
  }
}

/** Maximum delay before a reconnect that a stream accepts, in milliseconds. */
const RETRY_MS_MAX = 12 * BACKOFF_MS_MAX;
