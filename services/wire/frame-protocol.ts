import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Fault } from '#fault/fault';

/**
 * One service's language as a client speaks it. The `write` functions append one message's fields;
 * the frame around them is not their business.
 */
export interface ClientProtocol<Call, Answer, Reply extends { readonly id: number }> {
  /** Path of the stream method, as `proto/` names it. */
  readonly path: string;
  /** An upper bound of the encoded size of a call, in bytes. */
  sizeOfCall(call: Call): number;
  writeCall(writer: BinaryWriter, id: number, timeoutMs: number, call: Call): void;
  writeCancel(writer: BinaryWriter, id: number): void;
  /** Throws when the bytes are no such message. */
  readReply(reader: BinaryReader, length: number): Reply;
  /** The answer in a reply. Throws its fault, or `internal` when it breaks the domain. */
  answerOf(reply: Reply): Answer;
}

/** One service's language as a server speaks it. */
export interface ServerProtocol<Call, Answer, Request extends WireRequest> {
  /** Throws when the bytes are no such message. */
  readRequest(reader: BinaryReader, length: number): Request;
  /** The call in a request. Throws a fault when it breaks the domain. */
  callOf(request: Request, deadlineAtMs: number): Call;
  /** An upper bound of the encoded size of an answer, in bytes. */
  sizeOfAnswer(answer: Answer): number;
  writeAnswer(writer: BinaryWriter, id: number, answer: Answer): void;
  writeFault(writer: BinaryWriter, id: number, fault: Fault): void;
}

/** What every request carries. `timeoutMs` 0 cancels the call of that id. */
export type WireRequest = { readonly id: number; readonly timeoutMs: number };
