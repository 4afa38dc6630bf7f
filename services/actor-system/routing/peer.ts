import { toFault } from '#errors/fault';
import type { RecoverCall } from '#grpc/frame-client';
import type { Clock } from '#stdlib/clock';

/**
 * Connection to a node of a service at one address, for example a `PeerConnection`. Every call ends
 * within its timeout. Without a connection, calls fail immediately as unavailable and with a known
 * outcome.
 */
export interface Peer<Call, Answer> extends AsyncDisposable {
  /** Sends a call without a retry. `timeoutMs` is the rest of the call's original timeout. */
  ask(call: Call, options?: { readonly timeoutMs: number }): Answer | Promise<Answer>;
  /** Sends a call with its full timeout. A fault is passed to `recover` instead of being thrown. */
  askOr(call: Call, recover: RecoverCall<Call, Answer>): Answer | Promise<Answer>;
  /** Whether calls can be made, as far as this process knows. */
  readonly isOpen: boolean;
  /** Fulfils when calls can be made. Rejects if disposed first. */
  ready(): Promise<void>;
}

/**
 * Peer for this process's own node. The peer is always open. The node is disposed separately and
 * enforces the deadlines of calls.
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
