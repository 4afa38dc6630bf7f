import type { BinaryReader } from '@bufbuild/protobuf/wire';
import * as grpc from '@grpc/grpc-js';
import type { FaultCode } from '#errors/error-codes';
import { Fault, faultFor, toFault } from '#errors/fault';
import { type UnaryCaller, unaryHandler } from '#grpc/admin';
import {
  ACCOUNT_CALL_MS_MAX,
  CALL_TIMEOUT_MS_MAX,
  FRAME_BYTES_TARGET,
  REPLIES_HELD_BYTES_MAX,
  REPLY_FRAME_BYTES_MAX,
  SERVER_CALLS_IN_FLIGHT_MAX,
} from '#grpc/call-bounds';
import type { CallEnded } from '#grpc/channel';
import {
  FrameWriter,
  faultToWire,
  isUnknownCall,
  losesItsCause,
  readFrame,
  refusalOf,
} from '#grpc/frame';
import {
  type CallTrace,
  callOfPeer,
  endCallSpan,
  type FrameProtocol,
  inServerSpan,
  packedTraceOf,
  traceOf,
  UNTRACED,
  type WireReply,
  type WireRequest,
} from '#grpc/frame-protocol';
import type { WireService } from '#grpc/grpc-server';
import { rolesOfCall, type WireRole } from '#grpc/tls';
import { type Clock, type Instant, instantOf, systemClock } from '#stdlib/clock';
import { NumberMap } from '#stdlib/hash-map';
import { type Traced, type Tracer, traced, traceparentIn } from '#telemetry/tracer';

/** Dependencies of a server stream. */
type FrameServerPorts = {
  readonly clock: Clock;
  /** Maximum number of unanswered calls per stream. Further calls are refused. */
  readonly callsInFlightMax: number;
  /**
   * Called with errors that are not faults, faults with a cause, invalid calls, and broken streams.
   */
  readonly reportBug: (error: unknown, traceparent?: string) => void;
  readonly observer?: CallObserver | undefined;
  readonly tracer?: Tracer | undefined;
};

/** Options of a server stream. */
type FrameServerOptions<
  Call extends Traced,
  Answer,
  Request extends WireRequest,
  WireAnswer,
> = FrameServerPorts & {
  readonly protocol: FrameProtocol<Call, Answer, Request, WireAnswer>;
  readonly target: CallTarget<Call, Answer>;
};

type Outcome<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'fault'; readonly fault: Fault };

/** Unanswered call. Its times are monotonic, in milliseconds. */
type InFlightCall = {
  readonly trace: CallTrace;
  readonly id: number;
  readonly arrivedMs: number;
  readonly deadlineMs: number;
};

/** `size` is an upper bound of the encoded size, in bytes. */
type QueuedReply<Answer> = { readonly id: number; outcome: Outcome<Answer>; size: number };

/**
 * Stream to one client. Reads frames, calls the target, and writes the replies of a turn as one
 * frame.
 */
class FrameServerStream<Call extends Traced, Answer, Request extends WireRequest, WireAnswer> {
  readonly #options: FrameServerOptions<Call, Answer, Request, WireAnswer>;
  readonly #stream: grpc.ServerDuplexStream<Buffer, Buffer>;
  /** Roles in the certificate of the client's connection. */
  readonly #roles: readonly WireRole[] | undefined;
  readonly #inFlight = new NumberMap<InFlightCall>();
  readonly #writer: FrameWriter<QueuedReply<Answer>>;
  #replies: QueuedReply<Answer>[] = [];
  readonly #flushNow = () => this.#flush();
  readonly #readRequest = (reader: BinaryReader, length: number) => this.#accept(reader, length);
  readonly #send = (frame: Buffer) => {
    this.#isBlocked = !this.#stream.write(frame);
  };
  #heldBytes = 0;
  #arrived: Instant = { wallMs: 0, monotonicMs: 0 };
  /** Trace of the call that is being started. */
  #starting = UNTRACED;
  #isFlushScheduled = false;
  #isBlocked = false;
  #isDraining = false;
  #isOver = false;

  constructor(
    stream: grpc.ServerDuplexStream<Buffer, Buffer>,
    options: FrameServerOptions<Call, Answer, Request, WireAnswer>,
    onOver: () => void,
  ) {
    this.#stream = stream;
    this.#options = options;
    this.#roles = rolesOfCall(stream);
    const { protocol, reportBug } = options;
    this.#writer = new FrameWriter({
      frameBytesMax: REPLY_FRAME_BYTES_MAX,
      isWanted: () => true,
      sizeOf: ({ size }) => size,
      write: (writer, { id, outcome }) => {
        protocol.reply.encode({ id, outcome: this.#toWire(outcome) }, writer);
      },
      refuse: (reply, error) => {
        reportBug(error);
        const fault = new Fault('internal', 'internal error', { isOutcomeUnknown: true });
        reply.outcome = { kind: 'fault', fault };
        reply.size = 0;
      },
    });
    const over = (): void => {
      if (this.#isOver) return;
      this.#end();
      onOver();
    };
    stream.on('data', (frame: Buffer) => this.#receive(frame));
    stream.on('drain', () => this.#unblock());
    stream.on('cancelled', over);
    stream.on('error', over);
    stream.on('close', over);
    stream.on('end', () => this.drain());
  }

  /** Refuses new calls from now on, and ends the stream when all calls in flight are answered. */
  drain(): void {
    this.#isDraining = true;
    this.#scheduleFlush();
  }

  #receive(frame: Uint8Array): void {
    if (this.#isOver) return;
    const { clock } = this.#options;
    this.#arrived = instantOf(clock);
    try {
      const messages = readFrame(frame, this.#readRequest);
      this.#options.observer?.received?.(messages);
    } catch (error) {
      this.#options.reportBug(error);
      this.#end();
      // The peer does not follow this protocol, so later data on the stream cannot be trusted.
      this.#stream.emit('error', {
        code: grpc.status.INVALID_ARGUMENT,
        details: 'not a frame of this service',
      });
    }
  }

  #accept(reader: BinaryReader, length: number): void {
    const request = this.#options.protocol.request.decode(reader, length);
    const { id } = request;
    if (this.#inFlight.get(id) !== undefined)
      throw new RangeError('a second call with the id of a call in flight');
    this.#starting = UNTRACED;
    try {
      this.#start(request);
    } catch (error) {
      const tookMs = this.#options.clock.monotonicMs() - this.#arrived.monotonicMs;
      this.#replyFault(id, error, tookMs, this.#starting);
    }
  }

  // A plain value is answered in this turn, without a promise.
  #start(request: Request): void {
    const { clock, target } = this.#options;
    const timeoutMs = Math.min(request.timeoutMs, ACCOUNT_CALL_MS_MAX);
    const deadlineMs = this.#arrived.monotonicMs + timeoutMs;
    // The call timed out while earlier calls of the same frame were answered.
    if (clock.monotonicMs() >= deadlineMs) return;
    this.#refuseIfFull();
    const outcome = target.ask(this.#callOf(request, this.#arrived.wallMs + timeoutMs));
    if (!(outcome instanceof Promise)) {
      this.#observe(clock.monotonicMs() - this.#arrived.monotonicMs, 'ok', this.#starting);
      this.#reply(request.id, { kind: 'answer', answer: outcome });
      return;
    }
    const { monotonicMs: arrivedMs } = this.#arrived;
    const call = { id: request.id, arrivedMs, deadlineMs, trace: this.#starting };
    this.#inFlight.set(call.id, call);
    outcome.then(
      (answer) => this.#answer(call, answer),
      (error: unknown) => this.#fail(call, error),
    );
  }

  #refuseIfFull(): void {
    if (this.#isDraining) throw faultFor('shutting_down', 'the service is shutting down');
    const isFull = this.#inFlight.size >= this.#options.callsInFlightMax;
    if (isFull || this.#heldBytes >= REPLIES_HELD_BYTES_MAX) {
      throw faultFor('overloaded', 'too many calls in flight');
    }
  }

  #callOf(request: Request, deadlineAtMs: number): Call {
    let call: Call;
    try {
      call = callOfPeer(this.#options.protocol, request, deadlineAtMs, this.#roles);
    } catch (error) {
      throw refusalOf(error);
    }
    const packed = packedTraceOf(request);
    if (packed !== undefined) traced(call, packed);
    this.#starting = traceOf(this.#options.tracer, this.#options.protocol, call);
    const { span } = this.#starting;
    return span === undefined ? call : traced(call, span.traceparent);
  }

  #answer(call: InFlightCall, answer: Answer): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#observe(nowMs - call.arrivedMs, 'ok', call.trace);
    if (this.#isWanted(call, nowMs)) this.#reply(call.id, { kind: 'answer', answer });
  }

  #fail(call: InFlightCall, error: unknown): void {
    const nowMs = this.#options.clock.monotonicMs();
    const tookMs = nowMs - call.arrivedMs;
    if (this.#isWanted(call, nowMs)) this.#replyFault(call.id, error, tookMs, call.trace);
    else this.#observe(tookMs, toFault(error).code, call.trace);
  }

  // Removes the call from the calls in flight, and returns whether its caller still waits. A call
  // stays in flight after the stream has ended, because the bound limits the work, not the number
  // of waiting callers.
  #isWanted(call: InFlightCall, nowMs: number): boolean {
    this.#inFlight.delete(call.id);
    if (this.#isDraining && this.#inFlight.size === 0) this.#scheduleFlush();
    return !this.#isOver && nowMs < call.deadlineMs;
  }

  #replyFault(id: number, error: unknown, tookMs: number, trace: CallTrace): void {
    if (losesItsCause(error)) this.#options.reportBug(error, trace.traceparent);
    const fault = toFault(error);
    this.#observe(tookMs, fault.code, trace);
    this.#reply(id, { kind: 'fault', fault });
  }

  #observe(tookMs: number, outcome: 'ok' | FaultCode, { span, isMeasured }: CallTrace): void {
    if (span !== undefined) endCallSpan(span, outcome);
    if (!isMeasured) return;
    this.#options.observer?.ended(tookMs / 1_000, outcome, span?.traceparent);
  }

  #reply(id: number, outcome: Outcome<Answer>): void {
    if (this.#isOver) return;
    const { protocol } = this.#options;
    const size = outcome.kind === 'answer' ? protocol.sizeOfAnswer(outcome.answer) : 0;
    this.#replies.push({ id, outcome, size });
    this.#heldBytes += size;
    this.#scheduleFlush();
    // A turn can receive many frames of calls, so a full reply frame is sent before the turn ends.
    if (this.#heldBytes >= FRAME_BYTES_TARGET) this.#write();
  }

  #toWire(outcome: Outcome<Answer>) {
    return outcome.kind === 'answer'
      ? ({ $case: 'answer', value: this.#options.protocol.answerToWire(outcome.answer) } as const)
      : ({ $case: 'fault', value: faultToWire(outcome.fault) } as const);
  }

  // Flush at the end of the event-loop turn, so that the answers of one group commit share a frame.
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#isBlocked) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#isOver) return;
    this.#write();
    const isDone = this.#replies.length === 0 && this.#inFlight.size === 0;
    if (this.#isDraining && isDone) this.#stream.end();
  }

  // Back-pressure: while a client does not read its answers, the server does not read its calls.
  #write(): void {
    if (this.#isBlocked) return;
    let next = 0;
    while (!this.#isBlocked && next < this.#replies.length) {
      next = this.#writer.write(this.#replies, next, this.#send);
    }
    this.#replies = next === this.#replies.length ? [] : this.#replies.slice(next);
    this.#heldBytes = this.#replies.reduce((sum, { size }) => sum + size, 0);
    if (this.#isBlocked) this.#stream.pause();
  }

  #unblock(): void {
    this.#isBlocked = false;
    this.#flush();
    if (!this.#isBlocked) this.#stream.resume();
  }

  #end(): void {
    this.#isOver = true;
    this.#replies = [];
  }
}

/** Dependencies of a served engine or limiter. */
export type FrameServiceOptions = Partial<FrameServerPorts>;

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * gRPC service that serves `target` to every `FrameClient` of the same protocol. `Exchange` is the
 * framed stream. `Ask` is a unary method for tools. `Ask` answers a fault as a gRPC status with the
 * fault's code in the details.
 */
export function frameService<Call extends Traced, Answer, Request extends WireRequest, WireAnswer>(
  protocol: FrameProtocol<Call, Answer, Request, WireAnswer>,
  target: CallTarget<Call, Answer>,
  options: FrameServiceOptions = {},
): WireService {
  const { clock = systemClock, callsInFlightMax = SERVER_CALLS_IN_FLIGHT_MAX } = options;
  const { reportBug = () => undefined, observer, tracer } = options;
  const stream = { protocol, target, clock, callsInFlightMax, reportBug, observer, tracer };
  const streams = new Set<FrameServerStream<Call, Answer, Request, WireAnswer>>();
  let isDraining = false;

  function exchange(duplex: grpc.ServerDuplexStream<Buffer, Buffer>): void {
    const served = new FrameServerStream(duplex, stream, () => streams.delete(served));
    streams.add(served);
    // The headers show the client that the stream is open before the client has sent anything.
    duplex.sendMetadata(new grpc.Metadata());
    if (isDraining) served.drain();
  }

  async function answer(request: Request, from: UnaryCaller): Promise<WireReply<WireAnswer>> {
    if (isDraining) {
      const reason = 'shutting_down';
      throw new Fault('service_unavailable', 'the service is shutting down', { reason });
    }
    const timeoutMs = Math.min(request.timeoutMs || CALL_TIMEOUT_MS_MAX, ACCOUNT_CALL_MS_MAX);
    const call = callOf(request, clock.wallMs() + timeoutMs, rolesOfCall(from));
    const asked = traced(call, tracedBy(from.metadata));
    const reply = await inServerSpan(tracer, protocol, asked, async (own) => target.ask(own));
    return { id: request.id, outcome: { $case: 'answer', value: protocol.answerToWire(reply) } };
  }

  // People type these calls, so a refusal contains the reason.
  function callOf(
    request: Request,
    deadlineAtMs: number,
    roles: readonly WireRole[] | undefined,
  ): Call {
    try {
      return callOfPeer(protocol, request, deadlineAtMs, roles);
    } catch (error) {
      if (isUnknownCall(error)) throw error;
      const cause = error instanceof Fault ? error.cause : error;
      throw new Fault('invalid_request', `not understood: ${String(cause)}`, { cause });
    }
  }

  return {
    name: protocol.name,
    definition: { exchange: exchangeDefinition(protocol.exchangePath), ask: protocol.ask },
    implementation: { exchange, ask: unaryHandler(answer, reportBug) },
    drain() {
      isDraining = true;
      for (const served of streams) served.drain();
    },
  };
}

/** Traceparent from the metadata of a unary call, where gRPC tools put it. */
function tracedBy(metadata: grpc.Metadata): string | undefined {
  const [sent] = metadata.get('traceparent');
  return typeof sent === 'string' ? traceparentIn(sent) : undefined;
}

// gRPC passes frames as bytes; the stream decodes the frames message by message.
function exchangeDefinition(path: string): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}

/** Observes a server's calls for its metrics. On the hot path: must be cheap. */
export interface CallObserver {
  /** Called when a call ends, whether or not its caller still waits. */
  ended: CallEnded;
  /** Called when a frame with `messages` messages arrives. */
  received?: ((messages: number) => void) | undefined;
}

/** Answers calls. */
interface CallTarget<Call, Answer> {
  /**
   * Answers a call. A plain value is sent in the same turn, without a promise. A thrown error is a
   * fault.
   */
  ask(call: Call): Answer | Promise<Answer>;
}
