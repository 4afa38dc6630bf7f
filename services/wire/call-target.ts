import type { CallEnded } from '#wire/channel';

/** Hears what a server does, for its metrics. On the hot path: must be cheap. */
export interface CallObserver {
  /** A call ended here after this time, whether or not its caller still waits for it. */
  ended: CallEnded;
  /** A frame with `messages` messages came. */
  received(messages: number): void;
}

/** What answers the calls. */
export interface CallTarget<Call, Answer> {
  /** A value is answered in this turn, without a promise; a throw is a fault. */
  ask(call: Call): Answer | Promise<Answer>;
}
