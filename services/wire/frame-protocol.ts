import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MethodDefinition } from '@grpc/grpc-js';
import type { FaultReason } from '#fault/error-reasons';
import type { Traced } from '#platform/tracer';
import { faultFromWire } from '#wire/fault-codec';
import type { Fault as WireFault } from '#wire/gen/identity_engine/v1/stream';
import { brokenMessage, type WireRole } from '#wire/tls';

/** What every request carries. */
export type WireRequest = {
  readonly id: number;
  /** What is left of the call's time, in milliseconds. */
  readonly timeoutMs: number;
  /** The span that asks; empty where nothing is traced. */
  traceparent: string;
};

/** What every reply carries. */
export type WireReply<WireAnswer> = {
  id: number;
  outcome:
    | { $case: 'answer'; value: WireAnswer }
    | { $case: 'fault'; value: WireFault }
    | undefined;
};

/** How one kind of message becomes bytes and comes out of them. */
interface WireMessage<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
  /** Throws when the bytes are no such message. */
  decode(reader: BinaryReader, length: number): Message;
}

/**
 * A service whose calls travel in frames over a stream: everything that sets it apart from another
 * one, for its clients and its servers. The frames around the messages are not its business.
 */
export interface FrameProtocol<
  Call extends Traced,
  Answer,
  Request extends WireRequest,
  WireAnswer,
> {
  /** Full name, as the health protocol names it. */
  readonly name: string;
  /** With TLS, the role that a process must have to be asked. */
  readonly role: WireRole;
  /**
   * With TLS, who alone may make a call that its method would let more make; undefined: all of these.
   * Source: decision 253.
   */
  callersOf?(call: Call): readonly WireRole[] | undefined;
  /** Path of the stream method. */
  readonly exchangePath: string;
  /** What a call asks for, of a closed set, for the name of its span. */
  nameOf(call: Call): string;
  /** The unary method for tools. */
  readonly ask: MethodDefinition<Request, WireReply<WireAnswer>>;
  /** Why a call fails when the peer cannot be asked, or does not answer. */
  readonly unavailable: FaultReason;
  /** Why a call fails that was sent and not answered in time. */
  readonly timedOut: FaultReason;
  /** The longest that an answer may take unless the client says otherwise, in milliseconds. */
  readonly timeoutMs: number;
  /** The same for one call that takes longer than others; undefined: it does not. */
  timeoutMsOf?(call: Call): number | undefined;
  /** When a call's time is over by the wall clock, if it says so; else infinity. */
  deadlineAtMsOf(call: Call): number;
  /**
   * Whether the answer may wait for something to happen: then how long it takes says nothing of the
   * service, and is not measured.
   */
  waits(call: Call): boolean;
  readonly request: WireMessage<Request>;
  readonly reply: WireMessage<WireReply<WireAnswer>>;
  /** An upper bound of the encoded size of a call, in bytes. */
  sizeOfCall(call: Call): number;
  requestOf(id: number, timeoutMs: number, call: Call): Request;
  /** The call in a request. Throws a fault when it breaks the domain. */
  callOf(request: Request, deadlineAtMs: number): Call;
  /** An upper bound of the encoded size of an answer, in bytes. */
  sizeOfAnswer(answer: Answer): number;
  answerToWire(answer: Answer): WireAnswer;
  /** Throws `internal` when the answer breaks the domain. */
  answerFromWire(answer: WireAnswer): Answer;
}

/**
 * The call in a request of a peer with these roles; without TLS peers have none, and may make any.
 * Throws as `callOf`, and `internal` for a call that is for others to make.
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

/** The answer in a reply. Throws its fault, or `internal` when it breaks the domain. */
export function answerOf<Answer, WireAnswer>(
  protocol: { answerFromWire(answer: WireAnswer): Answer },
  { outcome }: WireReply<WireAnswer>,
): Answer {
  if (outcome === undefined) throw brokenMessage('outcome');
  if (outcome.$case === 'fault') throw faultFromWire(outcome.value);
  return protocol.answerFromWire(outcome.value);
}
