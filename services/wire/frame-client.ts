import type { BinaryReader } from '@bufbuild/protobuf/wire';
import { Fault, type FaultCode, toFault } from '#fault/fault';
import type { FaultReason } from '#fault/reasons';
import { NumberMap } from '#platform/number-map';
import { DeadlineSweep } from '#wire/deadline-sweep';
import { FrameWriter, readFrame } from '#wire/frame';
import { type ConnectionOptions, FrameConnection } from '#wire/frame-connection';
import type { ClientProtocol } from '#wire/frame-protocol';
import { REQUEST_FRAME_BYTES_MAX } from '#wire/wire-bounds';

/** What a frame client is made of. */
export type FrameClientOptions<Call, Answer, Reply extends { readonly id: number }> = Omit<
  ConnectionOptions,
  'path'
> & {
  readonly protocol: ClientProtocol<Call, Answer, Reply>;
  /** Why a call fails when the peer cannot be asked, or does not answer. */
  readonly unavailable: FaultReason;
  /** Why a call fails that was sent and not answered in time. */
  readonly timedOut: FaultReason;
  /** Calls without an answer, sent or not; beyond it they are refused. */
  readonly callsInFlightMax: number;
  /** Hears of every call's end, with its duration in seconds. Must be cheap: it is on the hot path. */
  readonly observeCall?: ((seconds: number, outcome: 'ok' | FaultCode) => void) | undefined;
};

/**
 * Takes a call over that has failed: what it returns becomes the call's outcome; undefined lets the
 * fault stand. `askedAtMs` is monotonic time.
 */
export type RecoverCall<Call, Answer> = (
  call: Call,
  fault: Fault,
  askedAtMs: number,
) => Promise<Answer> | undefined;

type PendingCall<Call, Answer> = {
  readonly id: number;
  readonly call: Call;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (fault: Fault) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
  readonly recover: RecoverCall<Call, Answer> | undefined;
  isSent: boolean;
  isSettled: boolean;
  isCancelled: boolean;
};

const UINT32_RANGE = 2 ** 32;

/**
 * One peer, asked over one stream. Calls of one event-loop turn travel in one frame; answers are
 * matched by id and may come in any order.
 *
 * Every call ends in an answer or a `Fault`, at the latest two sweeps after its time-out, or after a
 * standstill of this process.
 * `isOutcomeUnknown` is set exactly if the call had been handed to the stream and no answer came.
 */
export class FrameClient<Call, Answer, Reply extends { readonly id: number }>
  implements AsyncDisposable
{
  readonly #options: FrameClientOptions<Call, Answer, Reply>;
  readonly #connection: FrameConnection;
  readonly #sweep: DeadlineSweep;
  readonly #inFlight = new NumberMap<PendingCall<Call, Answer>>();
  /** Calls, and cancellations of sent calls, that wait for the next frame. */
  #unsent: PendingCall<Call, Answer>[] = [];
  readonly #writer: FrameWriter<PendingCall<Call, Answer>>;
  readonly #flushNow = () => this.#flush();
  readonly #readReply = (reader: BinaryReader, length: number) => this.#settle(reader, length);
  readonly #send = (frame: Buffer) => {
    this.#isBlocked = !this.#connection.write(frame);
  };
  #isFlushScheduled = false;
  #isBlocked = false;
  #lastId = 0;
  #nowMs = 0;

  constructor(options: FrameClientOptions<Call, Answer, Reply>) {
    this.#options = options;
    this.#sweep = new DeadlineSweep(options.clock, (nowMs) => this.#failDue(nowMs));
    this.#writer = new FrameWriter({
      frameBytesMax: REQUEST_FRAME_BYTES_MAX,
      isWanted: (pending) => this.#isWanted(pending),
      sizeOf: ({ call }) => options.protocol.sizeOfCall(call),
      write: (writer, pending) => {
        const { id, call, deadlineMs } = pending;
        if (pending.isCancelled) return options.protocol.writeCancel(writer, id);
        const timeoutMs = Math.ceil(deadlineMs - this.#nowMs);
        options.protocol.writeCall(writer, id, timeoutMs, call);
        pending.isSent = true;
      },
      refuse: (pending, cause) => {
        pending.isSent = false;
        this.#fail(pending, new Fault('internal', 'internal error', { cause }));
      },
    });
    this.#connection = new FrameConnection(
      { ...options, path: options.protocol.path },
      {
        onOpen: () => {
          this.#isBlocked = false;
        },
        onFrame: (frame) => readFrame(frame, this.#readReply),
        onDrain: () => {
          this.#isBlocked = false;
          this.#flush();
        },
        onLost: (cause) => this.#failAll(cause),
      },
    );
  }

  /** Whether the peer is connected, as far as is known. */
  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** Settles when the peer is connected. */
  ready(): Promise<void> {
    return this.#connection.ready();
  }

  /**
   * Asks; never waits for a connection. `signal` gives the call up and tells the peer so. `recover`
   * hears of a fault before the caller does, so that a call that goes well needs no second promise.
   */
  ask(
    call: Call,
    timeoutMs: number,
    signal?: AbortSignal,
    recover?: RecoverCall<Call, Answer>,
  ): Promise<Answer> {
    const refusal = this.#refusalOf(timeoutMs, signal);
    if (refusal !== undefined) {
      this.#options.observeCall?.(0, refusal.code);
      const recovered = recover?.(call, refusal, this.#options.clock.monotonicMs());
      return recovered ?? Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      const askedAtMs = this.#options.clock.monotonicMs();
      this.#lastId = (this.#lastId + 1) % UINT32_RANGE;
      const pending: PendingCall<Call, Answer> = {
        id: this.#lastId,
        call,
        askedAtMs,
        deadlineMs: askedAtMs + timeoutMs,
        resolve,
        reject,
        signal,
        onAbort: signal === undefined ? undefined : () => this.#cancel(pending),
        recover,
        isSent: false,
        isSettled: false,
        isCancelled: false,
      };
      if (pending.onAbort !== undefined) signal?.addEventListener('abort', pending.onAbort);
      this.#inFlight.set(pending.id, pending);
      this.#unsent.push(pending);
      this.#scheduleFlush();
      this.#sweep.start(askedAtMs);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweep[Symbol.dispose]();
    this.#connection[Symbol.dispose]();
  }

  #refusalOf(timeoutMs: number, signal: AbortSignal | undefined): Fault | undefined {
    const { unavailable, timedOut, callsInFlightMax } = this.#options;
    if (signal?.aborted)
      return this.#unavailable('the call was given up', unavailable, signal.reason);
    if (!this.#connection.isOpen)
      return this.#unavailable('the service cannot be reached', unavailable);
    if (!(timeoutMs > 0)) return this.#unavailable('the deadline has passed', timedOut);
    // What is unsent is nearly always in flight too, but what was given up stays until a sweep.
    if (this.#inFlight.size >= callsInFlightMax || this.#unsent.length >= 2 * callsInFlightMax) {
      return this.#unavailable('too many calls in flight', 'overloaded');
    }
    return undefined;
  }

  #unavailable(
    message: string,
    reason: FaultReason,
    cause?: unknown,
    isOutcomeUnknown = false,
  ): Fault {
    return new Fault('service_unavailable', message, { reason, cause, isOutcomeUnknown });
  }

  // At the end of the event-loop turn, not of the task: calls of many sockets come together.
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#isBlocked) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (!this.#connection.isOpen) return;
    this.#nowMs = this.#options.clock.monotonicMs();
    let next = 0;
    while (!this.#isBlocked && next < this.#unsent.length) {
      next = this.#writer.write(this.#unsent, next, this.#send);
    }
    this.#unsent = next === this.#unsent.length ? [] : this.#unsent.slice(next);
  }

  #isWanted(pending: PendingCall<Call, Answer>): boolean {
    if (pending.isCancelled) return pending.isSent;
    return !pending.isSettled && pending.deadlineMs > this.#nowMs;
  }

  // A reply to an id that nobody waits for came too late, or twice: it changes nothing. One to a
  // call that was never sent is a lie, and so is the rest of the stream.
  #settle(reader: BinaryReader, length: number): void {
    const { protocol } = this.#options;
    const reply = protocol.readReply(reader, length);
    const pending = this.#inFlight.get(reply.id);
    if (pending === undefined) return;
    if (!pending.isSent) throw new RangeError('a reply to a call that was not sent');
    let answer: Answer;
    try {
      answer = protocol.answerOf(reply);
    } catch (error) {
      this.#fail(pending, toFault(error));
      return;
    }
    this.#finish(pending, 'ok');
    pending.resolve(answer);
  }

  #fail(pending: PendingCall<Call, Answer>, fault: Fault): void {
    this.#finish(pending, fault.code);
    const recovered = pending.recover?.(pending.call, fault, pending.askedAtMs);
    if (recovered === undefined) pending.reject(fault);
    else pending.resolve(recovered);
  }

  #finish(pending: PendingCall<Call, Answer>, outcome: 'ok' | FaultCode): void {
    this.#inFlight.delete(pending.id);
    pending.isSettled = true;
    if (pending.onAbort !== undefined)
      pending.signal?.removeEventListener('abort', pending.onAbort);
    const { observeCall, clock } = this.#options;
    if (observeCall === undefined) return;
    observeCall((clock.monotonicMs() - pending.askedAtMs) / 1_000, outcome);
  }

  #cancel(pending: PendingCall<Call, Answer>): void {
    if (pending.isSettled) return;
    const { isSent, signal } = pending;
    const reason = this.#options.unavailable;
    this.#fail(pending, this.#unavailable('the call was given up', reason, signal?.reason, isSent));
    if (!isSent) return;
    pending.isCancelled = true;
    this.#unsent.push(pending);
    this.#scheduleFlush();
  }

  /** Fails the calls whose time is over. Returns whether any are left. */
  #failDue(nowMs: number): boolean {
    const { unavailable, timedOut } = this.#options;
    let isAnyUnsent = false;
    for (const pending of this.#inFlight.values()) {
      // Another one's end may have ended it meanwhile.
      if (pending.isSettled || pending.deadlineMs > nowMs) continue;
      const { isSent } = pending;
      isAnyUnsent ||= !isSent;
      const fault = isSent
        ? this.#unavailable('no answer in time', timedOut, undefined, true)
        : this.#unavailable('the call could not be sent in time', unavailable);
      this.#fail(pending, fault);
    }
    if (isAnyUnsent || this.#isBlocked) {
      this.#unsent = this.#unsent.filter((pending) => !pending.isSettled || pending.isCancelled);
    }
    return this.#inFlight.size > 0;
  }

  #failAll(cause: unknown): void {
    this.#unsent = [];
    this.#isBlocked = false;
    const lost = this.#inFlight.values();
    const { unavailable } = this.#options;
    for (const pending of lost) {
      if (pending.isSettled) continue;
      const message = 'the connection was lost';
      this.#fail(pending, this.#unavailable(message, unavailable, cause, pending.isSent));
    }
  }
}
