import { toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { RecoverCall } from '#wire/frame-client';

/**
 * One node of a service, at one address; a `PeerConnection` is one. Every call ends in its time.
 * While there is no connection calls fail at once as unavailable, and with a known outcome.
 */
export interface Peer<Call, Answer> extends AsyncDisposable {
  /** Asks once. `timeoutMs` is what is left of the time that the call had at first. */
  ask(call: Call, options?: { readonly timeoutMs: number }): Answer | Promise<Answer>;
  /**
   * As `ask` with all the time that a call has, but throws nothing: what fails is handed to
   * `recover` first.
   */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Answer | Promise<Answer>;
  /** Whether calls can be made, as far as is known. */
  readonly isOpen: boolean;
  /** Settles when calls can be made; rejects when disposed first. */
  ready(): Promise<void>;
}

/**
 * This process's own node as a peer: always open, and not disposed with the peer. The node itself
 * sees to it that calls end in time.
 */
export function inProcessPeer<Call, Answer>(
  node: { ask(call: Call): Answer | Promise<Answer> },
  clock: Clock,
): Peer<Call, Answer> {
  return {
    isOpen: true,
    ask: (call) => node.ask(call),
    askOr(call, recover) {
      const askedAtMs = clock.monotonicMs();
      const recovered = (error: unknown): Promise<Answer> =>
        recover(call, toFault(error), askedAtMs) ?? Promise.reject(error);
      try {
        const answer = node.ask(call);
        return answer instanceof Promise ? answer.catch(recovered) : answer;
      } catch (error) {
        return recovered(error);
      }
    },
    ready: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
