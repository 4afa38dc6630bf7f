/**
 * Messages between an engine and a courier, as domain data. In a standalone process these objects
 * are passed directly. Between processes, `courier-codec.ts` translates the objects to proto.
 */
import type { Traced } from '#telemetry/tracer';

/** A message to a webhook endpoint, before it is signed. */
export type OutgoingMessage = Traced & {
  readonly endpointId: string;
  readonly url: string;
  /** The same in every attempt. */
  readonly id: string;
  readonly body: string;
  /** Sealed secrets that sign the message, the present secret first. */
  readonly sealedSecrets: readonly string[];
};

/** Maximum bytes of an answer's body that are shown: the beginning of an error message. */
export const ANSWER_BYTES_SHOWN = 1_024;

/** Maximum length of a content type that is shown, in UTF-16 units. Longer ones are cut. */
export const CONTENT_TYPE_SHOWN = 128;

/** Beginning of an answer, for the owner of the endpoint. Untrusted text. */
export type ShownAnswer = {
  /** Header `Content-Type`. Empty if absent. */
  readonly contentType: string;
  /** First `ANSWER_BYTES_SHOWN` bytes of the body. */
  readonly text: string;
  /** Whether the body is longer. */
  readonly isCut: boolean;
};

/** Outcome of one attempt. An answer may have any status. `retryAfter`: header `Retry-After`. */
export type CourierOutcome = (
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** Absent: the answer is from an internal address, or from a courier of another release. */
      readonly shown?: ShownAnswer;
    }
  | { readonly kind: 'failed'; readonly failure: string }
) & {
  /**
   * The sealed secrets of the message in the same order, sealed with the present secret of the
   * cluster. Undefined if they are so already.
   */
  readonly resealed?: readonly string[];
};

/** Sends messages to webhook endpoints. */
export interface CourierClient {
  /** Signs a message and sends it once. Rejects if no courier answers. */
  ask(message: OutgoingMessage): Promise<CourierOutcome>;
}
