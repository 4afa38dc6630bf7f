import type { AccountNews } from '#accounts/account';
import {
  EventStream,
  type EventStreamParts,
  type StreamCursor,
  type StreamEnd,
} from '#edge/events/event-stream';
import type { Caller } from '#edge/http';
import type { EdgeAnswer } from '#edge/serve/engine-calls';
import { faultFor } from '#errors/fault';
import { type Clock, every } from '#stdlib/clock';

/**
 * Maximum streams per key or session at an edge: enough to follow twenty instances. Source:
 * decision 244.
 */
const STREAMS_PER_CREDENTIAL_MAX = 20;

/** Maximum streams per account at an edge, over all keys. Source: decision 244. */
const STREAMS_PER_ACCOUNT_MAX = 100;

/**
 * Maximum streams per edge, including ended streams whose engine call still runs. The engine
 * connections carry one call per stream. Source: decision 244.
 */
const STREAMS_MAX = 2_000;

/** Maximum stream duration, in milliseconds. The reconnect checks the key again (decision 244). */
const STREAM_MS_MAX = 60 * 60 * 1_000;

/**
 * Maximum duration of a stream while account changes cannot be received, in milliseconds. Source:
 * decision 106.
 */
const UNHEARD_STREAM_MS_MAX = 30_000;

/** Duration jitter, as a share. Streams that began together end at different times. */
const AGE_JITTER = 0.1;

/**
 * Time that an account change takes to reach all nodes, in milliseconds. Until then, a stream may
 * be admitted according to the old state. Source: architecture 4, decision 106.
 */
const CHANGE_MS = 1_000;

/** Minimum reconnect delay, in milliseconds. An account change reaches all nodes in less time. */
const RETRY_MS_MIN = CHANGE_MS + 100;
/** Maximum reconnect delay, in milliseconds. */
const RETRY_MS_MAX = 3_000;

/**
 * Maximum time that an engine waits for an event, in milliseconds. Shorter than a call's deadline,
 * so that a call can still follow a shard to its new owner. Source: decision 244.
 */
const WAIT_MS_MAX = 8_000;

/** Wait jitter, as a share, so that streams that began together do not call the engine together. */
const WAIT_JITTER = 0.25;

/** Interval between two checks of all streams, in milliseconds. */
const SWEEP_MS = 1_000;

/** `EventStreams` dependencies and settings. */
type EventStreamsPorts = {
  readonly clock: Clock;
  /** Uniform in [0, 1), for jitter. */
  readonly random: () => number;
  /** Called with the cause when a stream has ended. */
  readonly onEnd: (why: StreamEnd) => void;
  /** Announcements of account changes. Undefined if no source announces account changes. */
  readonly accountNews: AccountNews | undefined;
  /** Maximum streams; 2,000 by default. */
  readonly streamsMax?: number;
  /** Limits of the stream duration. Default: at most an hour, and the usual reconnect delay. */
  readonly renewal?: Renewal | undefined;
};

/** Maximum stream duration, and reconnect delay after that duration, in milliseconds. */
type Renewal = { readonly streamMsMax: number; readonly retryMs: number };

/** A reserved place for a stream. Disposal releases the place unless a stream has begun. */
type StreamPlace = Disposable & {
  /** Fulfils when a stream in this place would have to end before it has begun. */
  readonly over: Promise<StreamEnd>;
  /**
   * Begins the stream. The stream ends when its key expires, at `keyEndsAtMs` in Unix milliseconds.
   */
  begin(
    parts: Pick<EventStreamParts, 'response'> & {
      /** Asks the engine for the events after a cursor. Waits for the next event up to `waitMs`. */
      readonly ask: (after: StreamCursor, waitMs: number) => EdgeAnswer | Promise<EdgeAnswer>;
      readonly keyEndsAtMs?: number | undefined;
    },
    first: EdgeAnswer,
  ): void;
};

/** A reserved place whose first engine call is running. */
type Opening = {
  readonly caller: Caller;
  isChanged: boolean;
  readonly end: (why: StreamEnd) => void;
};

/**
 * An edge's open event streams. Source: decision 244.
 *
 * Ends a changed account's streams, because the account may have lost the key. Also ends streams at
 * their maximum age, and all streams when the edge drains.
 */
export class EventStreams {
  readonly #ports: EventStreamsPorts;
  readonly #open = new Map<EventStream, number>();
  readonly #ofCredential = new Counts();
  readonly #ofAccount = new Counts();
  /** Places whose streams have not begun. */
  readonly #opening = new Set<Opening>();
  readonly #subscription: Disposable | undefined;
  #sweeping: Disposable | undefined;
  /** Monotonic time since which account changes cannot be received; undefined while they can. */
  #unheardSinceMs: number | undefined;
  #isDraining = false;
  /** Places taken, including ended streams whose engine call still runs. */
  #places = 0;

  constructor(ports: EventStreamsPorts) {
    this.#ports = ports;
    this.#subscription = ports.accountNews?.onChange((...ids) => this.#changed(...ids));
  }

  /** How many streams are open. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Reserves a place. Throws `too_many_streams` for the caller, or `overloaded` for the whole edge.
   */
  reserve(caller: Caller): StreamPlace {
    const { credential, accountId } = caller;
    const isMany =
      this.#ofCredential.of(credential) >= STREAMS_PER_CREDENTIAL_MAX ||
      this.#ofAccount.of(accountId) >= STREAMS_PER_ACCOUNT_MAX;
    if (isMany) {
      const text = 'too many open event streams; close another stream';
      throw faultFor('too_many_streams', text, { retryAfterS: 1 });
    }
    if (this.#places >= (this.#ports.streamsMax ?? STREAMS_MAX)) {
      throw faultFor('overloaded', 'the server has too many streams', { retryAfterS: 1 });
    }
    this.#places += 1;
    const release = this.#counted(caller);
    const { promise: over, resolve: end } = Promise.withResolvers<StreamEnd>();
    const opening: Opening = { caller, isChanged: false, end };
    if (this.#isDraining) end('drain');
    this.#opening.add(opening);
    return {
      over,
      begin: ({ keyEndsAtMs, response, ask }, first) => {
        this.#opening.delete(opening);
        const { clock } = this.#ports;
        const next = (after: StreamCursor) =>
          ask(after, Math.round(WAIT_MS_MAX * (1 - WAIT_JITTER * this.#ports.random())));
        const stream = new EventStream({ caller, response, clock, ask: next });
        response.once('close', release);
        this.#open.set(stream, this.#endMsOf(stream, keyEndsAtMs));
        void this.#run(stream, first);
        if (opening.isChanged) this.#sendAway(stream, 'account');
      },
      [Symbol.dispose]: () => {
        if (!this.#opening.delete(opening)) return;
        release();
        this.#places -= 1;
      },
    };
  }

  /** Ends every stream, and every later stream after its first answer. Cannot be undone. */
  drain(): void {
    this.#isDraining = true;
    this.#subscription?.[Symbol.dispose]();
    for (const opening of this.#opening) opening.end('drain');
    for (const stream of this.#open.keys()) this.#sendAway(stream, 'drain');
  }

  /** Counts a caller's stream. Returns a function that releases the count once. */
  #counted({ credential, accountId }: Caller): () => void {
    this.#ofCredential.add(credential);
    this.#ofAccount.add(accountId);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#ofCredential.remove(credential);
      this.#ofAccount.remove(accountId);
    };
  }

  async #run(stream: EventStream, first: EdgeAnswer): Promise<void> {
    const { onEnd, clock } = this.#ports;
    this.#sweeping ??= every(clock, SWEEP_MS, () => this.#sweep());
    const running = stream.run(first);
    if (this.#isDraining) this.#sendAway(stream, 'drain');
    const end = await running;
    onEnd(end);
    this.#open.delete(stream);
    this.#places -= 1;
    if (this.#open.size > 0) return;
    this.#sweeping?.[Symbol.dispose]();
    this.#sweeping = undefined;
    this.#unheardSinceMs = undefined;
  }

  /** Monotonic time at which a new stream must end. */
  #endMsOf({ startedMs }: EventStream, keyEndsAtMs: number | undefined): number {
    const { accountNews, clock, renewal } = this.#ports;
    const heardMs = renewal?.streamMsMax ?? STREAM_MS_MAX;
    const longestMs = accountNews?.isHeard ? heardMs : Math.min(heardMs, UNHEARD_STREAM_MS_MAX);
    const keyMs = keyEndsAtMs === undefined ? longestMs : keyEndsAtMs - clock.wallMs();
    return startedMs + Math.min(keyMs, longestMs * (1 - AGE_JITTER * this.#ports.random()));
  }

  #changed(accountId: string, memberId: string | undefined): void {
    const isOf = ({ accountId: own, member }: Caller): boolean =>
      own === accountId && (memberId === undefined || member?.userId === memberId);
    this.#endOf(isOf);
    // Repeat, because streams may have been admitted meanwhile according to the old state.
    this.#ports.clock.after(CHANGE_MS, () => this.#endOf(isOf));
  }

  #endOf(isOf: (caller: Caller) => boolean): void {
    for (const opening of this.#opening) {
      if (!isOf(opening.caller)) continue;
      opening.isChanged = true;
      opening.end('account');
    }
    for (const stream of this.#open.keys()) {
      if (isOf(stream.caller)) this.#sendAway(stream, 'account');
    }
  }

  #sweep(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const lostNewsMs = this.#lostNews(nowMs);
    for (const [stream, endMs] of this.#open) {
      if (nowMs >= endMs) this.#sendAway(stream, 'age');
      else if (stream.startedMs < lostNewsMs) this.#sendAway(stream, 'account');
      else stream.keepAlive(nowMs);
    }
  }

  /**
   * Returns a monotonic time, in milliseconds. Streams that began before this time may have missed
   * account changes.
   */
  #lostNews(nowMs: number): number {
    const sinceMs = this.#unheardSinceMs;
    if (this.#ports.accountNews?.isHeard !== false) {
      this.#unheardSinceMs = undefined;
      return sinceMs === undefined ? Number.NEGATIVE_INFINITY : nowMs;
    }
    this.#unheardSinceMs ??= nowMs;
    const isLong = nowMs - this.#unheardSinceMs >= UNHEARD_STREAM_MS_MAX;
    return isLong ? this.#unheardSinceMs : Number.NEGATIVE_INFINITY;
  }

  #sendAway(stream: EventStream, why: StreamEnd): void {
    const anyMs = RETRY_MS_MIN + (RETRY_MS_MAX - RETRY_MS_MIN) * this.#ports.random();
    const retryMs = why === 'age' ? (this.#ports.renewal?.retryMs ?? anyMs) : anyMs;
    stream.end(why, Math.round(retryMs));
  }
}

/** Counters by name. A name is removed at zero. */
class Counts {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }

  remove(name: string): void {
    const count = this.of(name) - 1;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}
