import { type Fault, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';

/** Takes over a call that has failed; undefined lets the fault stand. `askedAtMs` is monotonic. */
export type Recover = (
  call: EngineCall,
  fault: Fault,
  askedAtMs: number,
) => Promise<EngineAnswer> | undefined;

/**
 * One engine at one address; `EngineConnection` is one. Every call ends by its deadline. While there
 * is no connection calls fail at once with `engine_unavailable`, and a known outcome.
 */
export interface EnginePeer extends EngineClient, AsyncDisposable {
  /** As `ask`, but throws nothing: what fails is handed to `recover` first. */
  askOr(call: EngineCall, recover: Recover): EngineAnswer | Promise<EngineAnswer>;
  /** Whether calls can be made, as far as is known. */
  readonly isOpen: boolean;
  /** Settles when calls can be made; rejects when disposed first. */
  ready(): Promise<void>;
}

/** An engine in this process as a peer: always open, and not disposed with the peer. */
export function inProcessPeer(engine: EngineClient, clock: Clock): EnginePeer {
  return {
    isOpen: true,
    ask: (call) => engine.ask(call),
    askOr(call, recover) {
      const askedAtMs = clock.monotonicMs();
      const recovered = (error: unknown): Promise<EngineAnswer> =>
        recover(call, toFault(error), askedAtMs) ?? Promise.reject(error);
      try {
        const answer = engine.ask(call);
        return answer instanceof Promise ? answer.catch(recovered) : answer;
      } catch (error) {
        return recovered(error);
      }
    },
    ready: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
