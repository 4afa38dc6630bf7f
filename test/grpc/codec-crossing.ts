import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Fault } from '#errors/fault';
import { faultToWire } from '#grpc/frame';
import type { FrameProtocol, WireReply, WireRequest } from '#grpc/frame-protocol';
import type { Traced } from '#telemetry/tracer';

/** A message as decoded by the other side, and its encoded size in bytes. */
type Crossed<Message> = { readonly result: Message; readonly size: number };

/** Encodes a message like the sender and decodes it like the receiver. */
function through<Message>(
  kind: {
    encode(message: Message, writer: BinaryWriter): BinaryWriter;
    decode(reader: BinaryReader, length: number): Message;
  },
  message: Message,
): Crossed<Message> {
  const bytes = kind.encode(message, new BinaryWriter()).finish();
  return { result: kind.decode(new BinaryReader(bytes), bytes.length), size: bytes.length };
}

/** A call as decoded by a server of the protocol. */
export function sentCall<Call extends Traced, Request extends WireRequest>(
  protocol: Pick<FrameProtocol<Call, never, Request, never>, 'request' | 'requestOf'>,
  call: Call,
): Crossed<Request> {
  return through(protocol.request, protocol.requestOf(7, 1_234, call));
}

/** An answer as decoded by a client of the protocol. */
export function sentAnswer<Answer, WireAnswer>(
  { reply, answerToWire }: SentReply<Answer, WireAnswer>,
  answer: Answer,
): Crossed<WireReply<WireAnswer>> {
  return through(reply, { id: 7, outcome: { $case: 'answer', value: answerToWire(answer) } });
}

/** A fault as decoded by a client of the protocol. */
export function sentFault<Answer, WireAnswer>(
  { reply }: SentReply<Answer, WireAnswer>,
  fault: Fault,
): WireReply<WireAnswer> {
  return through(reply, { id: 1, outcome: { $case: 'fault', value: faultToWire(fault) } }).result;
}

type SentReply<Answer, WireAnswer> = Pick<
  FrameProtocol<never, Answer, never, WireAnswer>,
  'reply' | 'answerToWire'
>;

/** All fields that a fault sends to the other side. */
export function fieldsOf(fault: Fault) {
  const { code, message, reason, field, retryAfterS, isOutcomeUnknown, owner } = fault;
  return { code, message, reason, field, retryAfterS, isOutcomeUnknown, owner };
}

/** The fields of the fault that `task` throws. */
export function thrownBy(task: () => unknown): ReturnType<typeof fieldsOf> {
  try {
    task();
  } catch (error) {
    if (error instanceof Fault) return fieldsOf(error);
    throw error;
  }
  throw new Error('nothing was thrown');
}
