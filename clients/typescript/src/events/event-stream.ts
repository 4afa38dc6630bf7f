import { onAbort } from '../abort.ts';
import type { CallOptions } from '../call-options.ts';
import type { Caller } from '../caller.ts';
import {
  type Arrival,
  type Arrived,
  EventFollower,
  type FollowerOptions,
} from './event-follower.ts';
import { EventHub } from './event-hub.ts';
import type { InstanceEvent } from './instance-event.ts';

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

/** The hubs of a client whose events its streams share, by path. */
export type SharedHubs = Map<string, EventHub>;

/**
 * The events of one instance, for `for await`. It reconnects by itself behind the last event, so every cycle
 * comes once and in order, and ends with `deleted`. It throws what no reconnect would mend: an `ApiError` such
 * as `UnauthorizedError`, `ForbiddenError` or `NotFoundError`, a `RateLimitedError` where the account has too
 * many streams for longer than `timeoutMs`, or the reason of the signal.
 *
 * The streams of a client that follow one instance from now on share a connection; one with `after` or a
 * `requestId` has its own. Reading is on request: where no one asks, the service is held back, and disconnects
 * a slow reader after a while.
 */
export class EventStream implements AsyncIterable<InstanceEvent> {
  readonly #caller: Caller;
  readonly #followed: Followed;
  readonly #options: EventsOptions;
  readonly #events: AsyncGenerator<InstanceEvent, void>;
  #lastEventId: string | undefined;
  #isClosed = false;
  #leave = () => {};

  /** Made by `instance.events()`. */
  constructor(caller: Caller, followed: Followed, options: EventsOptions) {
    this.#caller = caller;
    this.#followed = followed;
    this.#options = options;
    this.#lastEventId = options.after === undefined ? undefined : String(options.after);
    this.#events = this.#untilClosed();
    const end = this.#events.return.bind(this.#events);
    // By itself a generator would wait for the event that is asked for already.
    this.#events.return = (value) => {
      this.close();
      return end(value);
    };
  }

  /** Ends the iteration, also while it waits for an event; calling it again does nothing. */
  close(): void {
    this.#isClosed = true;
    this.#leave();
  }

  /** Id of the last event that was handed out: a later stream goes on behind it with `after`. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The one iterator of this stream; leaving its loop ends its part of the connection. */
  [Symbol.asyncIterator](): AsyncGenerator<InstanceEvent, void> {
    return this.#events;
  }

  async *#untilClosed(): AsyncGenerator<InstanceEvent, void> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const unlink = signal === undefined ? undefined : onAbort(signal, () => this.#leave());
    try {
      // A stream that fell behind the others goes on over a connection of its own.
      for (let isCut = true; isCut && !this.#isEnded(); ) isCut = yield* this.#watch();
      signal?.throwIfAborted();
    } finally {
      unlink?.();
    }
  }

  /** The events of one hub. Answers whether it has cut this stream off. */
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

  #take({ event, arrival, id }: Arrived): InstanceEvent {
    this.#lastEventId = id;
    this.#followed.onEvent(event, arrival);
    return event;
  }

  #hub(): EventHub {
    const { path } = this.#followed;
    const { requestId } = this.#options;
    const options: FollowerOptions = { requestId, after: this.#lastEventId };
    const follower = () => new EventFollower(this.#caller, path, options);
    const isShared = options.after === undefined && requestId === undefined;
    if (!isShared) return new EventHub(follower(), () => {});
    const { hubs } = this.#caller;
    const present = hubs.get(path);
    if (present !== undefined) return present;
    const made: EventHub = new EventHub(follower(), () => {
      if (hubs.get(path) === made) hubs.delete(path);
    });
    hubs.set(path, made);
    return made;
  }
}
