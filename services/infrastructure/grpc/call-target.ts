import type { CallEnded } from '#grpc/channel';

/** Observes a server's calls for its metrics. On the hot path: must be cheap. */
export interface CallObserver {
  /** Called when a call ends, whether or not its caller still waits. */
  ended: CallEnded;
  /** Called when a frame with `messages` messages arrives. */
  received(messages: number): void;
}

/** Answers calls. */
export interface CallTarget<Call, Answer> {
  /**
   * Answers a call. A plain value is sent in the same turn, without a promise. A throw is a fault.
   */
  ask(call: Call): Answer | Promise<Answer>;
}
