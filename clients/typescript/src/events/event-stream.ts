import { type Failure, readAttempt } from '../answer.ts';
import type { CallOptions } from '../call-options.ts';
import type { Caller } from '../caller.ts';
import { Deadline } from '../deadline.ts';
import { MalformedAnswerError } from '../errors.ts';
import { reportAttempt } from '../report-attempt.ts';
import { BACKOFF_MS_MAX, mayRepeat, waitMs } from '../retry.ts';
import type { EventBlock } from './event-block.ts';
import { EventConnection, SILENCE_MS_MAX } from './event-connection.ts';
import { eventOf, type InstanceEvent } from './instance-event.ts';

/** Where a stream begins, and what ends it. */
export type EventsOptions = Pick<CallOptions, 'signal' | 'requestId'> & {
  /** Id of the last event that you have, 0 for the beginning; default: what happens from now on. */
  readonly after?: number | string | undefined;
};

/** What is followed, and who hears of its events first. */
export type Followed = {
  /** Path below `/v1`. */
  readonly path: string;
  /** `arrival`: when its connection was asked for and when it came, in milliseconds of the steady clock. */
  readonly onEvent: (event: InstanceEvent, arrival: Arrival) => void;
};

/** When an event came, and how old it may be at most. */
export type Arrival = { readonly beganAtMs: number; readonly ageFromMs: number };

/** When to come back where the service has not said so, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * The events of one instance, for `for await`. It reconnects by itself behind the last event, so every cycle
 * comes once and in order, and ends with `deleted`. It throws what no reconnect would mend: an `ApiError` such
 * as `UnauthorizedError`, `ForbiddenError` or `NotFoundError`, or the reason of the signal. Reading is on
 * request: one who does not ask holds back the service, which disconnects a slow reader after a while.
 */
export class EventStream implements AsyncIterable<InstanceEvent> {
  readonly #caller: Caller;
  readonly #followed: Followed;
  readonly #options: EventsOptions;
  readonly #events: AsyncGenerator<InstanceEvent, void>;
  readonly #pauses: Deadline;
  readonly #closing = new AbortController();
  /** The caller's, and that of `close`. */
  readonly #signal: AbortSignal;
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;

  /** Made by `instance.events()`. */
  constructor(caller: Caller, followed: Followed, options: EventsOptions) {
    this.#caller = caller;
    this.#followed = followed;
    this.#options = options;
    this.#lastEventId = options.after === undefined ? undefined : String(options.after);
    const { signal } = this.#closing;
    this.#signal =
      options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]);
    this.#pauses = new Deadline(Number.POSITIVE_INFINITY, this.#signal);
    this.#events = this.#untilClosed();
    const end = this.#events.return.bind(this.#events);
    // By itself a generator would wait for the event that is asked for already.
    this.#events.return = (value) => {
      this.close();
      return end(value);
    };
  }

  /** Ends the connection and the iteration, also while it waits for an event; calling it again does nothing. */
  close(): void {
    this.#closing.abort();
  }

  /** Id of the last event that was handed out: a later stream goes on behind it with `after`. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The one iterator of this stream; leaving its loop ends the connection. */
  [Symbol.asyncIterator](): AsyncGenerator<InstanceEvent, void> {
    return this.#events;
  }

  async *#untilClosed(): AsyncGenerator<InstanceEvent, void> {
    try {
      yield* this.#follow();
    } catch (error) {
      if (!this.#closing.signal.aborted || this.#options.signal?.aborted === true) throw error;
    }
  }

  async *#follow(): AsyncGenerator<InstanceEvent, void> {
    for (let failures = 0; ; ) {
      const opened = await this.#open(failures + 1);
      let wait: number;
      if (opened instanceof EventConnection) {
        try {
          for await (const event of this.#eventsOf(opened)) {
            yield event;
            if (event.type === 'deleted') return;
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

  async *#eventsOf(connection: EventConnection): AsyncGenerator<InstanceEvent, void> {
    for (;;) {
      const blocks = await connection.next(SILENCE_MS_MAX);
      if (blocks === undefined) return;
      const arrival = { beganAtMs: connection.beganAtMs, ageFromMs: performance.now() };
      for (const block of blocks) {
        this.#pauses.throwIfCancelled();
        const event = this.#take(block, arrival);
        if (event !== undefined) yield event;
      }
    }
  }

  #take(block: EventBlock, arrival: Arrival): InstanceEvent | undefined {
    if (block.retryMs !== undefined) this.#retryMs = Math.min(block.retryMs, RETRY_MS_MAX);
    let event: InstanceEvent | undefined;
    try {
      event = eventOf(block, this.#caller.settings.integers);
    } catch {
      const answer = { status: 200, requestId: undefined, text: block.data ?? '' };
      throw new MalformedAnswerError(answer, false);
    }
    if (block.id !== undefined) this.#lastEventId = block.id;
    if (event !== undefined) this.#followed.onEvent(event, arrival);
    return event;
  }

  /** A connection, or a failure that another attempt may mend. Throws any other. */
  async #open(attempts: number): Promise<EventConnection | Failure> {
    const { settings } = this.#caller;
    const call = {
      headers: { accept: 'text/event-stream', 'last-event-id': this.#lastEventId },
      options: this.#options,
    };
    const url = settings.baseUrl + this.#followed.path;
    const headers = this.#caller.headersOf(call);
    const request = { url, method: 'GET', headers, body: undefined };
    const startedMs = performance.now();
    const facts = { method: 'GET', path: this.#followed.path, attempts, startedMs };
    const { attemptTimeoutMs, fetch, integers, onAttempt } = settings;
    const opened = await EventConnection.open(fetch, request, attemptTimeoutMs, this.#signal);
    if ('connection' in opened) {
      reportAttempt(onAttempt, facts, opened.response);
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
    if (!mayRepeat(outcome, 'always')) throw outcome.error;
    return outcome;
  }
}

/** The longest that a stream lets the service keep it away, in milliseconds. */
const RETRY_MS_MAX = 12 * BACKOFF_MS_MAX;
