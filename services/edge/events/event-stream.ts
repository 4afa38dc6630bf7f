import type { ServerResponse } from 'node:http';
import type { Caller } from '#edge/callers/exchange';
import type { EdgeAnswer } from '#edge/serve/engine-calls';
import { type Fault, toFault } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import type { EventCursor } from '#wire/engine-messages';

/** How often a stream says that it is there when it has nothing else to say, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** First and largest pause before an engine that gave no answer is asked again, in milliseconds. */
const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 2_000;

/** How long no engine may answer before a stream ends, in milliseconds: six longest calls. */
const UNANSWERED_MS_MAX = 60_000;

/** When a client whose stream breaks off comes back, in milliseconds. */
const RETRY_MS = 1_000;

/** Why a stream has ended. */
export type StreamEnd =
  | 'client'
  | 'account'
  | 'drain'
  | 'age'
  | 'unanswered'
  | 'deleted'
  | 'failed';

/** What a stream is made of. */
export type EventStreamParts = {
  readonly caller: Caller;
  readonly response: Pick<
    ServerResponse,
    'write' | 'end' | 'destroy' | 'writableNeedDrain' | 'once' | 'off'
  >;
  readonly clock: Clock;
  /** Asks the engine for what has happened since, or for what happens next. */
  readonly ask: (after: EventCursor) => EdgeAnswer | Promise<EdgeAnswer>;
};

/**
 * The events of one instance on their way to one client: asks the engine for the next ones whenever the
 * client has taken the last ones, so that no more than one answer of an engine waits for it. While an
 * instance moves, or its engine fails, the same is asked again: nothing is left out or sent twice.
 * Source: decision 244.
 */
export class EventStream {
  readonly caller: Caller;
  /** Monotonic time. */
  readonly startedMs: number;
  readonly #parts: EventStreamParts;
  #cursor: EventCursor | undefined;
  #writtenMs: number;
  #end: StreamEnd | undefined;
  /** Set while the client has not taken what was written. */
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

  /** Whether it has ended, though the engine may not have answered yet. */
  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Sends an engine's first answer and all that follows. Fulfils when no engine is asked any more. */
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

  /** Ends it; its client comes back after `retryMs`. One that takes nothing is cut off. */
  end(why: StreamEnd, retryMs = RETRY_MS): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    const { response } = this.#parts;
    if (response.writableNeedDrain) response.destroy();
    else response.end(`retry: ${retryMs}\n\n`);
    this.#drained?.();
  }

  /** Says that it is there, if it has said nothing for a while. */
  keepAlive(nowMs: number): void {
    const isWaitedFor = this.#end !== undefined || this.#parts.response.writableNeedDrain;
    if (!isWaitedFor && nowMs - this.#writtenMs >= KEEP_ALIVE_MS) this.#write(': keep-alive\n\n');
  }

  /** The engine's next answer; undefined if the stream has ended meanwhile. */
  async #next(after: EventCursor): Promise<EdgeAnswer | undefined> {
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
      // An instance that was there when the stream began, in this account.
      this.#write('event: deleted\ndata: {}\n\n');
      this.end('deleted');
    } else this.end('failed');
  }

  #take({ body, cursor }: EdgeAnswer): void {
    this.#cursor = cursor;
    if (this.#end !== undefined || body.length === 0) return;
    // A copy: a view would hold the whole frame that it came in until the client has taken it.
    this.#write(typeof body === 'string' ? body : Buffer.from(body));
  }

  #write(text: string | Uint8Array): void {
    if (this.#end !== undefined) return;
    this.#writtenMs = this.#parts.clock.monotonicMs();
    this.#parts.response.write(text);
  }

  /** Until the client has taken what was written, or the stream has ended. */
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

/** How long a refusal says that it will last, in milliseconds, where an upgrade is the reason. */
function waitOf({ reason, retryAfterS = 0 }: Fault): number {
  return reason === 'upgrade_in_progress' ? retryAfterS * 1_000 : 0;
}
