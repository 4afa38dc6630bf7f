import type { ServerResponse } from 'node:http';
import type { Caller } from '#edge/http';
import type { EdgeAnswer } from '#edge/serve/engine-calls';
import { type Fault, toFault } from '#errors/fault';
import type { EventCursor } from '#grpc/engine-messages';
import { type Clock, sleep } from '#stdlib/clock';

/** Cursor of an instance's events, or of an account's events. */
export type StreamCursor = EventCursor | string;

/** Interval between keep-alive comments on a silent stream, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** First pause before a failed engine call is repeated, in milliseconds. The pause doubles. */
const AGAIN_MS_MIN = 250;
/** Maximum pause before a failed engine call is repeated, in milliseconds. */
const AGAIN_MS_MAX = 2_000;

/**
 * A stream ends after this time without an engine answer, in milliseconds: six times the longest
 * call.
 */
const UNANSWERED_MS_MAX = 60_000;

/** Reconnect delay sent to clients, in milliseconds. */
const RETRY_MS = 1_000;

/** Cause of the end of a stream. */
export type StreamEnd =
  | 'client'
  | 'account'
  | 'drain'
  | 'age'
  | 'unanswered'
  | 'deleted'
  | 'failed';

/** Dependencies for a stream. */
export type EventStreamParts = {
  readonly caller: Caller;
  readonly response: Pick<
    ServerResponse,
    'write' | 'end' | 'destroy' | 'writableNeedDrain' | 'once' | 'off'
  >;
  readonly clock: Clock;
  /**
   * Asks the engine for the events after a cursor, and waits for the next event if there are none.
   */
  readonly ask: (after: StreamCursor) => EdgeAnswer | Promise<EdgeAnswer>;
};

/**
 * Sends an instance's events to a client. Source: decision 244.
 *
 * Asks the engine for more only after the client has read the last events (back-pressure). So at
 * most one answer is buffered. While an instance moves or its engine fails, the call is repeated
 * with the same cursor: no event is lost or sent twice.
 */
export class EventStream {
  readonly caller: Caller;
  /** Start of the stream (monotonic, in milliseconds). */
  readonly startedMs: number;
  readonly #parts: EventStreamParts;
  #cursor: StreamCursor | undefined;
  #writtenMs: number;
  #end: StreamEnd | undefined;
  /** Ends the wait for the client. Set while the client has not read the last write. */
  #drained: (() => void) | undefined;

  constructor(parts: EventStreamParts) {
    const { caller, clock, response } = parts;
    this.caller = caller;
    this.startedMs = clock.monotonicMs();
    this.#writtenMs = this.startedMs;
    this.#parts = parts;
    response.once('close', () => {
      this.#end ??= 'client';
      this.#drained?.();
    });
  }

  /** Whether the stream has ended. A call to the engine may still be running. */
  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Sends the engine's first answer and all later events. Fulfils with the end cause, when no
   * engine call is running.
   */
  async run(first: EdgeAnswer): Promise<StreamEnd> {
    this.#write(`retry: ${RETRY_MS}\n\n`);
    this.#take(first);
    while (this.#end === undefined) {
      await this.#untilTaken();
      if (this.#end !== undefined || this.#cursor === undefined) break;
      const answer = await this.#next(this.#cursor);
      if (answer !== undefined) this.#take(answer);
    }
    return this.#end ?? 'failed';
  }

  /**
   * Ends the stream. The client reconnects after `retryMs`. A client that does not read is
   * disconnected.
   */
  end(why: StreamEnd, retryMs = RETRY_MS): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    const { response } = this.#parts;
    if (response.writableNeedDrain) response.destroy();
    else response.end(`retry: ${retryMs}\n\n`);
    this.#drained?.();
  }

  /** Sends a keep-alive comment if the stream has been silent for `KEEP_ALIVE_MS`. */
  keepAlive(nowMs: number): void {
    const isWaitedFor = this.#end !== undefined || this.#parts.response.writableNeedDrain;
    if (!isWaitedFor && nowMs - this.#writtenMs >= KEEP_ALIVE_MS) this.#write(': keep-alive\n\n');
  }

  /** The engine's next answer, with retries; undefined if the stream has ended meanwhile. */
  async #next(after: StreamCursor): Promise<EdgeAnswer | undefined> {
    const { clock, ask } = this.#parts;
    const failingSinceMs = clock.monotonicMs();
    for (let pauseMs = AGAIN_MS_MIN; this.#end === undefined; pauseMs *= 2) {
      try {
        return await ask(after);
      } catch (error) {
        const fault = toFault(error);
        const isLate = clock.monotonicMs() - failingSinceMs > UNANSWERED_MS_MAX;
        if (fault.code !== 'service_unavailable' || isLate) this.#fail(fault, isLate);
        else await sleep(clock, Math.max(Math.min(pauseMs, AGAIN_MS_MAX), waitOf(fault)));
      }
    }
    return undefined;
  }

  #fail({ code }: Fault, isLate: boolean): void {
    if (isLate) this.end('unanswered');
    else if (code === 'not_found') {
      // The instance existed in this account when the stream began, so it has been deleted.
      this.#write('event: deleted\ndata: {}\n\n');
      this.end('deleted');
    } else this.end('failed');
  }

  #take({ body, cursor, next }: EdgeAnswer): void {
    this.#cursor = next ?? cursor;
    if (this.#end !== undefined || body.length === 0) return;
    // Copy the bytes: a view would keep the whole frame in memory until the client has read it.
    this.#write(typeof body === 'string' ? body : Buffer.from(body));
  }

  #write(text: string | Uint8Array): void {
    if (this.#end !== undefined) return;
    this.#writtenMs = this.#parts.clock.monotonicMs();
    this.#parts.response.write(text);
  }

  /** Waits until the client has read the last write, or the stream has ended. */
  async #untilTaken(): Promise<void> {
    const { response } = this.#parts;
    if (!response.writableNeedDrain) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    response.once('drain', resolve);
    await promise;
    response.off('drain', resolve);
    this.#drained = undefined;
  }
}

/** Wait that a fault requests during an upgrade, in milliseconds; otherwise 0. */
function waitOf({ reason, retryAfterS = 0 }: Fault): number {
  return reason === 'upgrade_in_progress' ? retryAfterS * 1_000 : 0;
}
