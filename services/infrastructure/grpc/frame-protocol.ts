import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MethodDefinition } from '@grpc/grpc-js';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import type { FaultReason, PeerReason } from '#errors/error-reasons';
import { toFault } from '#errors/fault';
import type { CallEnded } from '#grpc/channel';
import { brokenMessage, faultFromWire } from '#grpc/frame';
import type { Fault as WireFault } from '#grpc/gen/identity_engine/v1/stream';
import type { WireRole } from '#grpc/tls';
import type { HistogramSeries } from '#telemetry/make-metric';
import type { MetricName, Metrics } from '#telemetry/metrics';
import {
  isSampled,
  packedOf,
  putTraceId,
  type Span,
  TRACE_BYTES,
  type Traced,
  type Tracer,
  traced,
} from '#telemetry/tracer';

/** Fields of every request. */
export type WireRequest = {
  readonly id: number;
  /** Time left until the deadline of the call, in milliseconds. */
  readonly timeoutMs: number;
  /** Caller's span. Empty without tracing, and for an unrecorded trace (`packTrace`). */
  traceparent: string;
  /** Trace id of an unrecorded trace, 16 bytes. */
  traceId?: Uint8Array | undefined;
};

/** Trace id of the request that is being encoded. Encoding copies the bytes. */
const encodedTraceId = new Uint8Array(TRACE_BYTES);

/**
 * Replaces the `traceparent` of an unrecorded trace by the trace id. The request must be encoded
 * before the next call. The text would take four times the CPU and three times the bytes, in nearly
 * every call of a process with tracing.
 */
export function packTrace(request: WireRequest): void {
  const { traceparent } = request;
  if (traceparent === '' || isSampled(traceparent)) return;
  request.traceparent = '';
  putTraceId(traceparent, encodedTraceId);
  request.traceId = encodedTraceId;
}

/** Packed trace context of a received request. Undefined if the client packed none. */
export function packedTraceOf({ traceId }: WireRequest): string | undefined {
  return traceId?.length === TRACE_BYTES ? packedOf(traceId) : undefined;
}

/** Fields of every reply. */
export type WireReply<WireAnswer> = {
  id: number;
  outcome:
    | { $case: 'answer'; value: WireAnswer }
    | { $case: 'fault'; value: WireFault }
    | undefined;
};

/** Encoder and decoder for one message type. */
interface WireMessage<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
  /** Throws if the bytes are not such a message. */
  decode(reader: BinaryReader, length: number): Message;
}

/**
 * Protocol of a service whose calls travel in frames over a stream. Contains all differences
 * between services, for clients and servers. The framing is the same for all protocols.
 */
export interface FrameProtocol<
  Call extends Traced,
  Answer,
  Request extends WireRequest,
  WireAnswer,
> {
  /** Full name of the service, as in the health protocol. */
  readonly name: string;
  /** Role that a server must have, with TLS. */
  readonly role: WireRole;
  /**
   * Roles that may make a call, with TLS, if fewer than the roles of its method. Undefined for no
   * further restriction. Source: decision 253.
   */
  callersOf?(call: Call): readonly WireRole[] | undefined;
  /** Path of the stream method. */
  readonly exchangePath: string;
  /** Kind of a call, from a closed set. Names the span of the call. */
  nameOf(call: Call): string;
  /** Unary method for tools. */
  readonly ask: MethodDefinition<Request, WireReply<WireAnswer>>;
  /** Reason of the fault if the peer cannot be reached, or the connection is lost. */
  readonly unavailable: FaultReason | PeerReason;
  /** Reason of the fault if a sent call is not answered in time. */
  readonly timedOut: FaultReason | PeerReason;
  /** Default timeout of an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Timeout of a call that takes longer, in milliseconds. Undefined for the default. */
  timeoutMsOf?(call: Call): number | undefined;
  /** Deadline of a call by the wall clock, in Unix milliseconds. Infinity without a deadline. */
  deadlineAtMsOf(call: Call): number;
  /**
   * Whether the answer may wait for an event. The duration of such a call is not measured, because
   * it does not depend on the service.
   */
  waits(call: Call): boolean;
  readonly request: WireMessage<Request>;
  readonly reply: WireMessage<WireReply<WireAnswer>>;
  /** Upper bound for the encoded size of a call, in bytes. */
  sizeOfCall(call: Call): number;
  requestOf(id: number, timeoutMs: number, call: Call): Request;
  /** Decodes a call. Throws a fault if a value is out of bounds. */
  callOf(request: Request, deadlineAtMs: number): Call;
  /** Upper bound for the encoded size of an answer, in bytes. */
  sizeOfAnswer(answer: Answer): number;
  answerToWire(answer: Answer): WireAnswer;
  /** Throws `internal` if a value in the answer is out of bounds. */
  answerFromWire(answer: WireAnswer): Answer;
}

/**
 * Decodes the call of a peer with these roles. Without TLS, `roles` is undefined and any call is
 * allowed. Throws as `callOf`, and `internal` for a call that is reserved for other roles.
 */
export function callOfPeer<Call, Request>(
  protocol: PeerProtocol<Call, Request>,
  request: Request,
  deadlineAtMs: number,
  roles: readonly WireRole[] | undefined,
): Call {
  const call = protocol.callOf(request, deadlineAtMs);
  const callers = roles && protocol.callersOf?.(call);
  if (callers !== undefined && !callers.some((role) => roles?.includes(role))) {
    throw brokenMessage(`a call for ${callers.join(' or ')} alone`);
  }
  return call;
}

type PeerProtocol<Call, Request> = {
  callOf(request: Request, deadlineAtMs: number): Call;
  callersOf?(call: Call): readonly WireRole[] | undefined;
};

/** Decodes the answer in a reply. Throws its fault, or `internal` if a value is out of bounds. */
export function answerOf<Answer, WireAnswer>(
  protocol: { answerFromWire(answer: WireAnswer): Answer },
  { outcome }: WireReply<WireAnswer>,
): Answer {
  if (outcome === undefined) throw brokenMessage('outcome');
  if (outcome.$case === 'fault') throw faultFromWire(outcome.value);
  return protocol.answerFromWire(outcome.value);
}

/** Parts of a protocol that name the spans of its calls. */
type CallProtocol<Call> = {
  readonly name: string;
  readonly exchangePath: string;
  nameOf(call: Call): string;
};

/** Trace context of a received call: its own span, or the caller's traceparent. */
export type CallTrace = {
  readonly span?: Span | undefined;
  readonly traceparent?: string | undefined;
  /** Whether the duration of the call is measured. */
  readonly isMeasured: boolean;
};

/** Trace of a call without trace context. */
export const UNTRACED: CallTrace = { isMeasured: true };

/** Trace context of a received call on the server. Begins a span if the trace is sampled. */
export function traceOf<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call> & { waits(call: Call): boolean },
  call: Call,
): CallTrace {
  const isMeasured = !protocol.waits(call);
  const { traceparent: asking } = call;
  if (asking === undefined) return isMeasured ? UNTRACED : { isMeasured };
  const span = serverSpan(tracer, protocol, call);
  return { span, traceparent: span?.traceparent ?? asking, isMeasured };
}

/** Span of a call on the client. Undefined unless its trace is sampled. */
export function clientSpan<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
  address: string,
): Span | undefined {
  const { traceparent } = call;
  if (tracer === undefined || traceparent === undefined || !isSampled(traceparent))
    return undefined;
  const colon = address.lastIndexOf(':');
  return tracer.child(traceparent, {
    name: `${protocol.name}/${protocol.nameOf(call)}`,
    kind: 'client',
    attributes: {
      ...callAttributes(protocol),
      'server.address': address.slice(0, colon),
      'server.port': Number(address.slice(colon + 1)),
    },
  });
}

/** Span of a call on the server. Undefined unless its trace is sampled. */
function serverSpan<Call extends Traced>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
): Span | undefined {
  const { traceparent } = call;
  if (tracer === undefined || traceparent === undefined || !isSampled(traceparent))
    return undefined;
  const name = `${protocol.name}/${protocol.nameOf(call)}`;
  return tracer.child(traceparent, { name, kind: 'server', attributes: callAttributes(protocol) });
}

/** Runs `ask` until its answer, within a server span if the trace is sampled. */
export async function inServerSpan<Call extends Traced, Answer>(
  tracer: Tracer | undefined,
  protocol: CallProtocol<Call>,
  call: Call,
  ask: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const span = serverSpan(tracer, protocol, call);
  if (span === undefined) return await ask(call);
  try {
    const answer = await ask(traced(call, span.traceparent));
    endCallSpan(span, 'ok');
    return answer;
  } catch (error) {
    endCallSpan(span, toFault(error).code);
    throw error;
  }
}

/**
 * Ends the span of a call. Only outcomes with an HTTP status of 500 or more mark the span as an
 * error.
 */
export function endCallSpan(span: Span, outcome: 'ok' | FaultCode): void {
  const isError = outcome !== 'ok' && FAULTS[outcome].http >= 500;
  const attributes = { 'identity.outcome': outcome };
  span.end({ attributes, error: isError ? outcome : undefined });
}

/** `rpc.method` names the stream; the span's name has the kind of call inside the stream. */
function callAttributes({ exchangePath }: { readonly exchangePath: string }) {
  return { 'rpc.system.name': 'grpc', 'rpc.method': exchangePath.slice(1) };
}

type CallDurations = Extract<MetricName, `rpc_${string}_duration_seconds`>;

/** Observer for the call durations of a service, by outcome. */
export function durationsOf(metrics: Metrics, name: CallDurations, service: string): CallEnded {
  const histogram = metrics.histogram(name);
  const bound = new Map<string, HistogramSeries>();
  return (seconds, outcome, traceparent) => {
    let child = bound.get(outcome);
    if (child === undefined) {
      child = histogram.labels({ rpc_service: service, outcome });
      bound.set(outcome, child);
    }
    child.observe(seconds, traceparent);
  };
}
