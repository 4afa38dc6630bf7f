import type { BinaryReader } from '@bufbuild/protobuf/wire';
import type { FaultCode } from '#errors/error-codes';
import type { FaultReason, PeerReason } from '#errors/error-reasons';
import { Fault, faultFor, toFault } from '#errors/fault';
import { DEADLINE_SWEEP_MS, otherGeneration, REQUEST_FRAME_BYTES_MAX } from '#grpc/call-bounds';
import { type PeerOptions, peerDefaults } from '#grpc/channel';
import { FrameConnection, FrameWriter, readFrame } from '#grpc/frame';
import {
  answerOf,
  clientSpan,
  endCallSpan,
  type FrameProtocol,
  packTrace,
  type WireRequest,
} from '#grpc/frame-protocol';
import type { Clock } from '#stdlib/clock';
import { NumberMap } from '#stdlib/hash-map';
import type { Span, Traced } from '#telemetry/tracer';

/**
 * Handles a failed call: the returned promise becomes the call's outcome. Returns undefined to keep
 * the fault. `askedAtMs` is monotonic.
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
  readonly recover: RecoverCall<Call, Answer> | undefined;
  readonly span: Span | undefined;
  isSent: boolean;
  isSettled: boolean;
};

const UINT32_RANGE = 2 ** 32;

/**
 * Client for one peer over one stream. Calls made in one event-loop turn are sent in one frame.
 * Answers are matched by id and may arrive in any order.
 *
 * Every call ends with an answer or a `Fault`, at most two sweeps after its timeout, or later if
 * this process was stalled. `isOutcomeUnknown` is set exactly if the call was written to the stream
 * and no answer arrived.
 */
export class FrameClient<Call extends Traced, Answer, Request extends WireRequest, WireAnswer>
  implements AsyncDisposable
{
  readonly #protocol: FrameProtocol<Call, Answer, Request, WireAnswer>;
  readonly #options: ReturnType<typeof peerDefaults>;
  readonly #connection: FrameConnection;
  readonly #sweep: DeadlineSweep;
  readonly #inFlight = new NumberMap<PendingCall<Call, Answer>>();
  /** Calls queued for the next frame. */
  #unsent: PendingCall<Call, Answer>[] = [];
  readonly #writer: FrameWriter<PendingCall<Call, Answer>>;
  readonly #flushNow = () => this.#flush();
  readonly #readReply = (reader: BinaryReader, length: number) => this.#settle(reader, length);
  readonly #send = (frame: Buffer) => {
    this.#isBlocked = !this.#connection.write(frame);
  };
  #isFlushScheduled = false;
  #otherGeneration: Error | undefined;
  #isBlocked = false;
  #lastId = 0;
  #nowMs = 0;

  constructor(protocol: FrameProtocol<Call, Answer, Request, WireAnswer>, peer: PeerOptions) {
    const options = peerDefaults(peer, protocol);
    this.#protocol = protocol;
    this.#options = options;
    this.#sweep = new DeadlineSweep(options.clock, (nowMs) => this.#failDue(nowMs));
    this.#writer = new FrameWriter({
      frameBytesMax: REQUEST_FRAME_BYTES_MAX,
      isWanted: ({ isSettled, deadlineMs }) => !isSettled && deadlineMs > this.#nowMs,
      sizeOf: ({ call }) => protocol.sizeOfCall(call),
      write: (writer, pending) => {
        const { id, call, deadlineMs, span } = pending;
        const timeoutMs = Math.ceil(deadlineMs - this.#nowMs);
        const request = protocol.requestOf(id, timeoutMs, call);
        if (span !== undefined) request.traceparent = span.traceparent;
        else packTrace(request);
        protocol.request.encode(request, writer);
        pending.isSent = true;
      },
      refuse: (pending, cause) => {
        pending.isSent = false;
        this.#fail(pending, new Fault('internal', 'internal error', { cause }));
      },
    });
    this.#connection = new FrameConnection(options, {
      onOpen: () => {
        this.#isBlocked = false;
        this.#otherGeneration = undefined;
      },
      onFrame: (frame) => readFrame(frame, this.#readReply),
      onDrain: () => {
        this.#isBlocked = false;
        this.#flush();
      },
      onLost: (cause) => {
        this.#otherGeneration = otherGeneration(cause, protocol.name, options.address);
        this.#failAll(cause);
      },
    });
  }

  /** Whether the peer is connected, as far as this process knows. */
  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** Fulfils when the peer is connected. Rejects if disposed first. */
  ready(): Promise<void> {
    return this.#connection.ready();
  }

  /**
   * Sends a call. Never waits for a connection. Rejects with the service's faults unchanged.
   * `timeoutMs` shortens the call's timeout, in milliseconds.
   */
  ask(call: Call, options?: { readonly timeoutMs: number }): Promise<Answer> {
    return this.#ask(call, options?.timeoutMs ?? Number.POSITIVE_INFINITY, undefined);
  }

  /**
   * Sends a call. A fault is passed to `recover` before the caller sees it. A successful call needs
   * no second promise.
   */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Promise<Answer> {
    return this.#ask(call, Number.POSITIVE_INFINITY, recover);
  }

  #ask(
    call: Call,
    timeoutMsMax: number,
    recover: RecoverCall<Call, Answer> | undefined,
  ): Promise<Answer> {
    const leftMs = this.#protocol.deadlineAtMsOf(call) - this.#options.clock.wallMs();
    const ownMs = this.#protocol.timeoutMsOf?.(call) ?? this.#options.timeoutMs;
    const timeoutMs = Math.min(timeoutMsMax, leftMs, ownMs);
    const refusal = this.#refusalOf(timeoutMs);
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
        recover,
        span: clientSpan(this.#options.tracer, this.#protocol, call, this.#options.address),
        isSent: false,
        isSettled: false,
      };
      this.#inFlight.set(pending.id, pending);
      this.#unsent.push(pending);
      this.#scheduleFlush();
      this.#sweep.start(askedAtMs);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweep[Symbol.dispose]();
    this.#connection[Symbol.dispose]();
    this.#options.dependency?.[Symbol.dispose]();
  }

  #refusalOf(timeoutMs: number): Fault | undefined {
    const { unavailable, timedOut } = this.#protocol;
    const { callsInFlightMax } = this.#options;
    if (!this.#connection.isOpen) {
      this.#options.dependency?.unanswered('no connection');
      const cause = this.#otherGeneration;
      return this.#unavailable('the service cannot be reached', unavailable, cause);
    }
    if (!(timeoutMs > 0)) return this.#unavailable('the deadline has passed', timedOut);
    // Unsent calls are usually in flight too, but a timed-out call stays in `#unsent` until a
    // sweep.
    if (this.#inFlight.size >= callsInFlightMax || this.#unsent.length >= 2 * callsInFlightMax) {
      return this.#unavailable('too many calls in flight', 'overloaded');
    }
    return undefined;
  }

  #unavailable(
    message: string,
    reason: FaultReason | PeerReason,
    cause?: unknown,
    isOutcomeUnknown = false,
  ): Fault {
    return faultFor(reason, message, { cause, isOutcomeUnknown });
  }

  // Flush at the end of the event-loop turn, not of the task, so that calls from many sockets share
  // one frame.
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

  // A reply without a pending call is late or duplicate, and is ignored. A reply to a call that was
  // never sent proves a faulty peer, so the stream is closed.
  #settle(reader: BinaryReader, length: number): void {
    const reply = this.#protocol.reply.decode(reader, length);
    const pending = this.#inFlight.get(reply.id);
    if (pending === undefined) return;
    if (!pending.isSent) throw new RangeError('a reply to a call that was not sent');
    const { dependency } = this.#options;
    if (dependency !== undefined && dependency.unansweredCount > 0) dependency.answered();
    let answer: Answer;
    try {
      answer = answerOf(this.#protocol, reply);
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
    const { span, askedAtMs } = pending;
    if (span !== undefined) endCallSpan(span, outcome);
    if (this.#protocol.waits(pending.call)) return;
    const { observeCall, clock } = this.#options;
    observeCall?.((clock.monotonicMs() - askedAtMs) / 1_000, outcome, span?.traceparent);
  }

  /** Fails the calls whose deadline has passed. Returns whether calls are left. */
  #failDue(nowMs: number): boolean {
    const { unavailable, timedOut } = this.#protocol;
    let isAnyUnsent = false;
    for (const pending of this.#inFlight.values()) {
      // The end of another call may have settled this call in the meantime.
      if (pending.isSettled || pending.deadlineMs > nowMs) continue;
      const { isSent } = pending;
      const seconds = (nowMs - pending.askedAtMs) / 1_000;
      this.#options.dependency?.unanswered('no answer in time', seconds);
      isAnyUnsent ||= !isSent;
      const fault = isSent
        ? this.#unavailable('no answer in time', timedOut, undefined, true)
        : this.#unavailable('the call could not be sent in time', unavailable);
      this.#fail(pending, fault);
    }
    if (isAnyUnsent || this.#isBlocked) {
      this.#unsent = this.#unsent.filter((pending) => !pending.isSettled);
    }
    return this.#inFlight.size > 0;
  }

  #failAll(cause: unknown): void {
    this.#unsent = [];
    this.#isBlocked = false;
    const lost = this.#inFlight.values();
    const { unavailable } = this.#protocol;
    for (const pending of lost) {
      if (pending.isSettled) continue;
      const message = 'the connection was lost';
      this.#fail(pending, this.#unavailable(message, unavailable, cause, pending.isSent));
    }
  }
}

/**
 * Sweeps over deadlines every 10 ms while any deadline is left. One timer serves all calls.
 *
 * A late sweep shows that this process was stalled. The sweep is then postponed once, so that
 * received data is read first. Timers run before sockets, and the peer did not cause the delay.
 */
export class DeadlineSweep implements Disposable {
  readonly #clock: Clock;
  readonly #look: (nowMs: number) => boolean;
  readonly #lookNow = () => this.#tick();
  #timer: Disposable | undefined;
  /** Time at which the next sweep is due. Infinite if that sweep must not be postponed again. */
  #dueMs = 0;

  /**
   * `look` ends calls whose deadline has passed (monotonic), and returns whether deadlines are
   * left.
   */
  constructor(clock: Clock, look: (nowMs: number) => boolean) {
    this.#clock = clock;
    this.#look = look;
  }

  /** Starts the sweep for a new deadline. On the hot path: cheap if the sweep is running. */
  start(nowMs: number): void {
    if (this.#timer === undefined) this.#schedule(nowMs + DEADLINE_SWEEP_MS);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(dueMs: number): void {
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(DEADLINE_SWEEP_MS, this.#lookNow);
  }

  #tick(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#dueMs > DEADLINE_SWEEP_MS) this.#schedule(Number.POSITIVE_INFINITY);
    else if (this.#look(nowMs)) this.start(nowMs);
  }
}
