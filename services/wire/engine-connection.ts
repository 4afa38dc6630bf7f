import { engineClientProtocol } from '#wire/engine-codec';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';
import { FrameClient } from '#wire/frame-client';
import { type PeerOptions, peerDefaults } from '#wire/peer-options';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** An engine in another process. */
export interface EngineConnection extends EngineClient, AsyncDisposable {
  /** As `EngineClient`; `signal` gives the call up. */
  ask(call: EngineCall, signal?: AbortSignal): Promise<EngineAnswer>;
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
  return {
    ask(call, signal) {
      const leftMs = call.deadlineAtMs - peer.clock.wallMs();
      return client.ask(call, Math.min(leftMs, CALL_TIMEOUT_MS_MAX), signal);
    },
    ready: () => client.ready(),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
