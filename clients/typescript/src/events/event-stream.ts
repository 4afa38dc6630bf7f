import { onAbort } from '../calls/abort.ts';
import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import {
  type Arrival,
  type Arrived,
  EventFollower,
  type FollowerOptions,
} from './event-follower.ts';
import { EventHub } from './event-hub.ts';
import { eventOf, type InstanceEvent } from './instance-event.ts';

/** Start position and cancellation of a stream. */
export type EventsOptions = Pick<CallOptions, 'signal' | 'requestId' | 'headers'> & {
  /** Last event id received; 0 for all events. Default: new events only. */
  readonly after?: number | string | undefined;
};

/** The followed instance, and a listener that runs before the consumer. */
export type Followed = {
  /** Path below `/v1`. */
  readonly path: string;
  /** `arrival`: start of the request and arrival, in monotonic milliseconds. */
  readonly onEvent: (event: InstanceEvent, arrival: Arrival) => void;
};

/** Hubs of each client's shared streams, by path. */
const HUBS = new WeakMap<Caller, Map<string, EventHub>>();

/**
 * Events of one instance, for `for await`. Reconnects after the last event, so that every cycle
 * arrives once and in order. Ends after `deleted`. Throws permanent errors: an `ApiError` such as
 * `UnauthorizedError`, `ForbiddenError` or `NotFoundError`, a `RateLimitedError` if the account has
 * too many streams for longer than `timeoutMs`, or the abort reason.
 *
 * Streams without `after`, `requestId` or `headers` share one connection per client and instance;
 * all others have their own. Reading is on demand: a consumer that does not read applies
 * back-pressure, and the service disconnects a slow reader after a while.
 */
export class EventStream implements AsyncIterable<InstanceEvent> {
  readonly #caller: Caller;
  readonly #followed: Followed;
  readonly #options: EventsOptions;
  readonly #events: AsyncGenerator<InstanceEvent, void>;
  #lastEventId: string | undefined;
  #isClosed = false;
  #leave = () => {};

  /** Created by `instance.events()`. */
  constructor(caller: Caller, followed: Followed, options: EventsOptions) {
    this.#caller = caller;
    this.#followed = followed;
    this.#options = options;
    this.#lastEventId = options.after === undefined ? undefined : String(options.after);
    this.#events = this.#untilClosed();
    const end = this.#events.return.bind(this.#events);
    // A generator's own `return` would wait for the pending event.
    this.#events.return = (value) => {
      this.close();
      return end(value);
    };
  }

  /** Ends the iteration, even while it waits for an event. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#leave();
  }

  /** Last delivered event id, for the `after` option. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The single iterator of this stream. Leaving the loop leaves the connection. */
  [Symbol.asyncIterator](): AsyncGenerator<InstanceEvent, void> {
    return this.#events;
  }

  async *#untilClosed(): AsyncGenerator<InstanceEvent, void> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const unlink = signal === undefined ? undefined : onAbort(signal, () => this.#leave());
    try {
      // A stream that fell behind continues over its own connection.
      for (let isCut = true; isCut && !this.#isEnded(); ) isCut = yield* this.#watch();
      signal?.throwIfAborted();
    } finally {
      unlink?.();
    }
  }

  /** Yields a hub's events. Returns whether the hub cut this stream off. */
  async *#watch(): AsyncGenerator<InstanceEvent, boolean> {
    const hub = this.#hub();
    const watch = hub.watch();
    this.#leave = () => hub.leave(watch);
    try {
      for (;;) {
        const arrived = await hub.next(watch);
        if (this.#isEnded()) return false;
        if (arrived === undefined) return watch.isCut;
        yield this.#take(arrived);
        if (this.#isEnded()) return false;
      }
    } finally {
      this.#leave = () => {};
      hub.leave(watch);
    }
  }

  #isEnded(): boolean {
    return this.#isClosed || (this.#options.signal?.aborted ?? false);
  }

  #take({ event, arrival, id }: Arrived<InstanceEvent>): InstanceEvent {
    this.#lastEventId = id;
    this.#followed.onEvent(event, arrival);
    return event;
  }

  #hub(): EventHub {
    const { path } = this.#followed;
    const { requestId, headers } = this.#options;
    const options: FollowerOptions = { requestId, headers, after: this.#lastEventId };
    const source = { path, eventOf, isLast: isDeletion };
    const follower = () => new EventFollower<InstanceEvent>(this.#caller, source, options);
    const isShared = [options.after, requestId, headers].every((each) => each === undefined);
    if (!isShared) return new EventHub(follower(), () => {});
    const hubs = HUBS.get(this.#caller) ?? new Map<string, EventHub>();
    HUBS.set(this.#caller, hubs);
    const present = hubs.get(path);
    if (present !== undefined) return present;
    const made: EventHub = new EventHub(follower(), () => {
      if (hubs.get(path) === made) hubs.delete(path);
    });
    hubs.set(path, made);
    return made;
  }
}

/** Whether an event is the last of its instance. */
function isDeletion({ type }: InstanceEvent): boolean {
  return type === 'deleted';
}
