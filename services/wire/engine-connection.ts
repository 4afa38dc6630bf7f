import { engineClientProtocol } from '#wire/engine-codec';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';
import { FrameClient, type RecoverCall } from '#wire/frame-client';
import { type PeerOptions, peerDefaults } from '#wire/peer-options';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** An engine in another process. */
export interface EngineConnection extends EngineClient, AsyncDisposable {
  /** As `EngineClient`; `signal` gives the call up. */
  ask(call: EngineCall, signal?: AbortSignal): Promise<EngineAnswer>;
  /** As `ask`; `recover` takes over what fails, at no cost for what does not. */
  askOr(call: EngineCall, recover: RecoverCall<EngineCall, EngineAnswer>): Promise<EngineAnswer>;
  /** Whether the engine is connected, as far as is known. */
  readonly isOpen: boolean;
  /** Settles when the engine is connected. */
  ready(): Promise<void>;
}

/**
 * Connects to an engine, again and again, until disposed. A call has until its deadline, at most
 * 10 s (architecture 3.5), and fails at once while there is no connection.
 */
export function connectEngine(options: PeerOptions): EngineConnection {
  const peer = peerDefaults(options);
  const client = new FrameClient({
    ...peer,
    protocol: engineClientProtocol,
    unavailable: 'engine_unavailable',
    timedOut: 'deadline_exceeded',
  });
  const leftMs = ({ deadlineAtMs }: EngineCall) =>
    Math.min(deadlineAtMs - peer.clock.wallMs(), CALL_TIMEOUT_MS_MAX);
  return {
    ask: (call, signal) => client.ask(call, leftMs(call), signal),
    askOr: (call, recover) => client.ask(call, leftMs(call), undefined, recover),
    get isOpen() {
      return client.isOpen;
    },
    ready: () => client.ready(),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
