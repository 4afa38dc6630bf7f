import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MethodDefinition } from '@grpc/grpc-js';
import type { FaultReason } from '#errors/error-reasons';
import { faultFromWire } from '#grpc/fault-codec';
import type { Fault as WireFault } from '#grpc/gen/identity_engine/v1/stream';
import { brokenMessage, type WireRole } from '#grpc/tls';
import type { Traced } from '#telemetry/tracer';

/** Fields of every request. */
export type WireRequest = {
  readonly id: number;
  /** Time left until the deadline of the call, in milliseconds. */
  readonly timeoutMs: number;
  /** Caller's span. Empty without tracing. */
  traceparent: string;
};

/** Fields of every reply. */
export type WireReply<WireAnswer> = {
  id: number;
  outcome:
    | { $case: 'answer'; value: WireAnswer }
    | { $case: 'fault'; value: WireFault }
    | undefined;
};

/** Encoder and decoder of one kind of message. */
interface WireMessage<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
  /** Throws if the bytes are not such a message. */
  decode(reader: BinaryReader, length: number): Message;
}

/**
 * Protocol of a service whose calls travel in frames over a stream: all differences between
 * services, for clients and servers. Framing itself is the same for all protocols.
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
   * Roles that may make a call, with TLS, if they are fewer than those of its method. Undefined for
   * no further restriction. Source: decision 253.
   */
  callersOf?(call: Call): readonly WireRole[] | undefined;
  /** Path of the stream method. */
  readonly exchangePath: string;
  /** Kind of a call, from a closed set, for the name of its span. */
  nameOf(call: Call): string;
  /** Unary method for tools. */
  readonly ask: MethodDefinition<Request, WireReply<WireAnswer>>;
  /** Reason of the fault if the peer cannot be reached, or the connection is lost. */
  readonly unavailable: FaultReason;
  /** Reason of the fault if a sent call is not answered in time. */
  readonly timedOut: FaultReason;
  /** Default timeout of an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Timeout of a kind of call that takes longer, in milliseconds. Undefined for the default. */
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
  /** Upper bound of the encoded size of a call, in bytes. */
  sizeOfCall(call: Call): number;
  requestOf(id: number, timeoutMs: number, call: Call): Request;
  /** Decodes a call. Throws a fault if a value is out of bounds. */
  callOf(request: Request, deadlineAtMs: number): Call;
  /** Upper bound of the encoded size of an answer, in bytes. */
  sizeOfAnswer(answer: Answer): number;
  answerToWire(answer: Answer): WireAnswer;
  /** Throws `internal` if a value of the answer is out of bounds. */
  answerFromWire(answer: WireAnswer): Answer;
}

/**
 * Decodes the call of a peer with these roles. Without TLS `roles` is undefined and any call is
 * allowed. Throws as `callOf`, and `internal` for a call that only other roles may make.
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
