import { type Failure, readAttempt } from '../answer.ts';
import type { CallOptions } from '../call-options.ts';
import type { Caller } from '../caller.ts';
import { Deadline } from '../deadline.ts';
import { MalformedAnswerError, RateLimitedError } from '../errors.ts';
import { reportAttempt } from '../report-attempt.ts';
import { BACKOFF_MS_MAX, mayRepeat, waitMs } from '../retry.ts';
import type { EventBlock } from './event-block.ts';
import { EventConnection, SILENCE_MS_MAX } from './event-connection.ts';
import { eventOf, type InstanceEvent } from './instance-event.ts';

/** When an event came, and how old it may be at most. */
export type Arrival = { readonly beganAtMs: number; readonly ageFromMs: number };

/** When to come back where the service has not said so, in milliseconds. */
const RETRY_MS = 1_000;

/** Where a follower begins. */
export type FollowerOptions = Pick<CallOptions, 'requestId'> & {
  readonly after: string | undefined;
};

/** An event, when it came, and the id behind which a later stream goes on. */
export type Arrived = {
  readonly event: InstanceEvent;
  readonly arrival: Arrival;
  readonly id: string | undefined;
};

/**
 * Follows one instance over one connection at a time, and reconnects behind the last event. It ends with
 * `deleted`, and throws what no reconnect would mend: an `ApiError` such as `NotFoundError`, and a
 * `RateLimitedError` with the reason `too_many_streams` that has lasted for the time of a whole call.
 */
export class EventFollower {
  readonly #caller: Caller;
  readonly #path: string;
  readonly #options: FollowerOptions;
  readonly #closing = new AbortController();
  readonly #pauses = new Deadline(Number.POSITIVE_INFINITY, this.#closing.signal);
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;
  /** Since when the service has found too many streams open, by the steady clock. */
  #fullSinceMs: number | undefined;

  /** `path`: below `/v1`. */
  constructor(caller: Caller, path: string, options: FollowerOptions) {
    this.#caller = caller;
    this.#path = path;
    this.#options = options;
    this.#lastEventId = options.after;
  }

  /** Ends the connection; what is asked for after that rejects. */
  close(): void {
    this.#closing.abort();
  }

  /** The events, each when it is asked for: one who does not ask holds back the service. */
  async *events(): AsyncGenerator<Arrived, void> {
    for (let failures = 0; ; ) {
      const opened = await this.#open(failures + 1);
      let wait: number;
      if (opened instanceof EventConnection) {
        try {
          for await (const arrived of this.#eventsOf(opened)) {
            yield arrived;
            if (arrived.event.type === 'deleted') return;
          }
        } finally {
          opened.close();
        }
        this.#pauses.throwIfCancelled();
        failures = 0;
        wait = this.#retryMs + waitMs(1, undefined, Math.random);
      } else {
        failures += 1;
        wait = Math.max(this.#retryMs, waitMs(failures, opened.retryAfterMs, Math.random));
      }
      await this.#pauses.pause(wait);
    }
  }

  async *#eventsOf(connection: EventConnection): AsyncGenerator<Arrived, void> {
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

  #take(block: EventBlock): InstanceEvent | undefined {
    if (block.retryMs !== undefined) this.#retryMs = Math.min(block.retryMs, RETRY_MS_MAX);
    let event: InstanceEvent | undefined;
    try {
      event = eventOf(block, this.#caller.settings.integers);
    } catch {
      const answer = { status: 200, requestId: undefined, text: block.data ?? '' };
      throw new MalformedAnswerError(answer, false);
    }
    if (block.id !== undefined) this.#lastEventId = block.id;
    return event;
  }

  /** A connection, or a failure that another attempt may mend. Throws any other. */
  async #open(attempts: number): Promise<EventConnection | Failure> {
    const { settings } = this.#caller;
    const call = {
      headers: { accept: 'text/event-stream', 'last-event-id': this.#lastEventId },
      options: this.#options,
    };
    const url = settings.baseUrl + this.#path;
    const headers = this.#caller.headersOf(call);
    const request = { url, method: 'GET', headers, body: undefined };
    const startedMs = performance.now();
    const facts = { method: 'GET', path: this.#path, attempts, startedMs };
    const { attemptTimeoutMs, fetch, integers, onAttempt } = settings;
    const { signal } = this.#closing;
    const opened = await EventConnection.open(fetch, request, attemptTimeoutMs, signal);
    if ('connection' in opened) {
      reportAttempt(onAttempt, facts, opened.response);
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
   * Whether the service has found too many streams open for the time of a whole call. A refusal that is newer
   * may be due to a connection of before whose end the service has not noticed.
   */
  #isFullForLong({ error }: Failure): boolean {
    const isFull = error instanceof RateLimitedError && error.reason === 'too_many_streams';
    if (!isFull) return false;
    const nowMs = performance.now();
    this.#fullSinceMs ??= nowMs;
    return nowMs - this.#fullSinceMs >= this.#caller.settings.timeoutMs;
  }
}

/** The longest that a stream lets the service keep it away, in milliseconds. */
const RETRY_MS_MAX = 12 * BACKOFF_MS_MAX;
