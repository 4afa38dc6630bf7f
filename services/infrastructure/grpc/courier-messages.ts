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

/** Outcome of one attempt. An answer may have any status. `retryAfter`: header `Retry-After`. */
export type CourierOutcome = (
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
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
