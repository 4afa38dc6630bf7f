import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountNews } from '#accounts/account';
import type { AdmissionCall, Admitted } from '#edge/callers/admission';
import type { Caller } from '#edge/callers/exchange';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { EventStream, type EventStreamParts, type StreamEnd } from '#edge/events/event-stream';
import type { CallIds, EdgeAnswer, EngineCalls } from '#edge/serve/engine-calls';
import { LAST_EVENT_ID } from '#edge/serve/headers';
import type { Reply } from '#edge/serve/reply';
import { Fault, faultFor, invalid } from '#fault/fault';
import { type Clock, every } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { EngineCommand, EventCursor } from '#wire/engine-messages';

/** Streams of one key or session at one edge: a page for each of twenty instances. Source: decision 244. */
const STREAMS_PER_CREDENTIAL_MAX = 20;

/** Streams of one account at one edge, whatever their keys. Source: decision 244. */
const STREAMS_PER_ACCOUNT_MAX = 100;

/**
 * Streams of one edge, with those that have ended while an engine was asked for more: as many calls wait
 * at engines, for which each connection has room. Source: decision 244.
 */
const STREAMS_MAX = 2_000;

/** The longest that a stream lasts, in milliseconds: then its key is looked at again. Decision 244. */
const STREAM_MS_MAX = 60 * 60 * 1_000;

/** The same while no changes of accounts can be heard of, in milliseconds. Source: decision 106. */
const UNHEARD_STREAM_MS_MAX = 30_000;

/** How much sooner than that a stream may end, as a share: those that began together end apart. */
const AGE_JITTER = 0.1;

/**
 * How long after news of an account it may still be admitted by what was before, in milliseconds: by then
 * a change is effective everywhere. Source: architecture 4, decision 106.
 */
const CHANGE_MS = 1_000;

/**
 * How long clients that are sent away are to wait before they come back, in milliseconds: those of a
 * changed account longer than its change takes.
 */
const RETRY_MS_MIN = CHANGE_MS + 100;
const RETRY_MS_MAX = 3_000;

/**
 * How long an engine waits for something to happen at most, in milliseconds: less than a call has, so that
 * a shard that moves meanwhile leaves time to find its new owner. Source: decision 244.
 */
const WAIT_MS_MAX = 8_000;

/** How much less than that it may be, as a share: streams that began together are not asked for together. */
const WAIT_JITTER = 0.25;

/** How often streams are looked at, in milliseconds. */
const SWEEP_MS = 1_000;

/** What streams are opened with. */
type EventStreamsPorts = {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Hears why a stream has ended. */
  readonly onEnd: (why: StreamEnd) => void;
  /** Undefined where nothing announces changes. */
  readonly accountNews: AccountNews | undefined;
  /** How many there may be at once; left out: 2,000. */
  readonly streamsMax?: number;
  /** Left out: an hour at most, and clients come back as after any other end. */
  readonly renewal?: Renewal | undefined;
};

/** How long streams last at most, and how long after that their clients come back, in milliseconds. */
type Renewal = { readonly streamMsMax: number; readonly retryMs: number };

/** A place for a stream, until that has ended; given back unless one is begun. */
type StreamPlace = Disposable & {
  /** Begins the stream of the place, which ends with its key if that ends by itself: Unix ms. */
  begin(
    parts: Pick<EventStreamParts, 'response'> & {
      /** Asks the engine for what has happened since; it may wait so long for something to happen. */
      readonly ask: (after: EventCursor, waitMs: number) => EdgeAnswer | Promise<EdgeAnswer>;
      readonly keyEndsAtMs?: number | undefined;
    },
    first: EdgeAnswer,
  ): void;
};

/** A stream whose engine is asked for the first time. */
type Opening = { readonly accountId: string; isChanged: boolean };

/**
 * The streams of events that an edge has open. It ends those of an account that has changed, which may
 * have lost its key, those that are old, and all when the edge drains. Source: decision 244.
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
  /** Since when no news has come through, by monotonic time. */
  #unheardSinceMs: number | undefined;
  #isDraining = false;
  /** Places that are taken, also by streams that have ended while an engine is asked. */
  #places = 0;

  constructor(ports: EventStreamsPorts) {
    this.#ports = ports;
    this.#subscription = ports.accountNews?.onChange((accountId) => this.#changed(accountId));
  }

  /** How many streams are open. */
  get open(): number {
    return this.#open.size;
  }

  /** Takes a place. Throws `too_many_streams`, or `overloaded` when the edge has none left. */
  reserve(caller: Caller): StreamPlace {
    const { credential, accountId } = caller;
    const isMany =
      this.#ofCredential.of(credential) >= STREAMS_PER_CREDENTIAL_MAX ||
      this.#ofAccount.of(accountId) >= STREAMS_PER_ACCOUNT_MAX;
    if (isMany) {
      const text = 'too many streams of events are open';
      throw faultFor('too_many_streams', text, { retryAfterS: 1 });
    }
    if (this.#places >= (this.#ports.streamsMax ?? STREAMS_MAX)) {
      throw faultFor('overloaded', 'too many streams of events', { retryAfterS: 1 });
    }
    this.#places += 1;
    const release = this.#counted(caller);
    const opening: Opening = { accountId, isChanged: false };
    this.#opening.add(opening);
    return {
      begin: ({ keyEndsAtMs, response, ask }, first) => {
        this.#opening.delete(opening);
        const { clock } = this.#ports;
        const next = (after: EventCursor) =>
          ask(after, Math.round(WAIT_MS_MAX * (1 - WAIT_JITTER * this.#chance())));
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

  /** Ends every stream, and from now on each behind its first answer. There is no way back. */
  drain(): void {
    this.#isDraining = true;
    this.#subscription?.[Symbol.dispose]();
    for (const stream of this.#open.keys()) this.#sendAway(stream, 'drain');
  }

  /** Counts a stream of a caller, until it is released. */
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

  /** When a stream that begins is to end, by monotonic time. */
  #endMsOf({ startedMs }: EventStream, keyEndsAtMs: number | undefined): number {
    const { accountNews, clock, renewal } = this.#ports;
    const heardMs = renewal?.streamMsMax ?? STREAM_MS_MAX;
    const longestMs = accountNews?.isHeard ? heardMs : Math.min(heardMs, UNHEARD_STREAM_MS_MAX);
    const keyMs = keyEndsAtMs === undefined ? longestMs : keyEndsAtMs - clock.wallMs();
    return startedMs + Math.min(keyMs, longestMs * (1 - AGE_JITTER * this.#chance()));
  }

  #changed(accountId: string): void {
    this.#endOf(accountId);
    // What was admitted meanwhile by what was before.
    this.#ports.clock.after(CHANGE_MS, () => this.#endOf(accountId));
  }

  #endOf(accountId: string): void {
    for (const opening of this.#opening) {
      if (opening.accountId === accountId) opening.isChanged = true;
    }
    for (const stream of this.#open.keys()) {
      if (stream.caller.accountId === accountId) this.#sendAway(stream, 'account');
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

  /** Streams that began before this have perhaps missed news of their accounts, for too long. */
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
    const anyMs = RETRY_MS_MIN + (RETRY_MS_MAX - RETRY_MS_MIN) * this.#chance();
    const retryMs = why === 'age' ? (this.#ports.renewal?.retryMs ?? anyMs) : anyMs;
    stream.end(why, Math.round(retryMs));
  }

  /** Uniform in [0, 1). */
  #chance(): number {
    return Number.parseInt(this.#ports.randomness.hex(4), 16) / 0x1_0000;
  }
}

/** How many there are of each name; names of none take no place. */
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

/** What a stream is opened with. */
type StreamPorts = {
  readonly streams: EventStreams;
  readonly engine: EngineCalls;
  readonly callIds: CallIds;
  readonly reply: Reply;
};

/** An admitted request for a stream of events. */
type StreamRequest = {
  readonly endpoint: Endpoint;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly call: AdmissionCall;
  readonly command: Extract<EngineCommand, { kind: 'readEvents' }>;
  readonly admitted: Admitted;
};

/**
 * Asks the engine for the first events, which costs no more than any question, begins the answer with
 * them, and leaves it to the stream. Throws what the request is refused with: then nothing was sent.
 */
export async function serveStream(asked: StreamRequest, ports: StreamPorts): Promise<void> {
  const { endpoint, request, reply, call, command, admitted } = asked;
  const { caller } = call;
  const { id } = request.params as { id: string };
  const ask = askerOf(caller, id, ports);
  using place = ports.streams.reserve(caller);
  const asking = async () => ask(command.after, 0);
  const first = await asking().catch((error: unknown) => {
    throw namedAsSent(error, request);
  });
  // The caller may have gone while the engine was asked.
  if (reply.raw.destroyed) return;
  const response = ports.reply.stream(request, reply, endpoint, admitted.headers);
  const keyEndsAtMs = admitted.description?.keyExpiresAtMs;
  place.begin({ response, keyEndsAtMs, ask }, first);
}

/** Asks for the events of an instance; all that a stream keeps of its request. */
function askerOf(caller: Caller, instanceId: string, { engine, callIds }: StreamPorts) {
  return (after: EventCursor | undefined, waitMs: number) =>
    engine.ask(caller, {
      command: { kind: 'readEvents', after, waitMs },
      instanceId,
      callId: callIds.next(),
      idempotency: undefined,
      isReplayOnly: false,
      ifMatch: undefined,
    });
}

/** An engine does not know where the ordinal that it refuses came from. */
function namedAsSent(error: unknown, { headers }: FastifyRequest): unknown {
  const isRefused = error instanceof Fault && error.reason === 'invalid_parameter';
  if (!isRefused || headers[LAST_EVENT_ID] === undefined) return error;
  return invalid('invalid_header', 'Last-Event-ID', error.message);
}
