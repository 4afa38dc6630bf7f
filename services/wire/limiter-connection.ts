import { FrameClient } from '#wire/frame-client';
import { limiterClientProtocol } from '#wire/limiter-codec';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#wire/limiter-messages';
import { type PeerOptions, peerDefaults } from '#wire/peer-options';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/** A limiter in another process. */
export interface LimiterConnection extends LimiterClient, AsyncDisposable {
  /** As `LimiterClient`; `signal` gives the call up. */
  ask(call: LimiterCall, signal?: AbortSignal): Promise<LimiterAnswer>;
  /** Settles when the limiter is connected. */
  ready(): Promise<void>;
}

/**
 * Connects to a limiter, again and again, until disposed. A call has 100 ms (architecture 4), and
 * fails at once while there is no connection; either way it is `limiter_unavailable`.
 */
export function connectLimiter(options: PeerOptions): LimiterConnection {
  const client = new FrameClient({
    ...peerDefaults(options),
    protocol: limiterClientProtocol,
    unavailable: 'limiter_unavailable',
    timedOut: 'limiter_unavailable',
  });
  return {
    ask: (call, signal) => client.ask(call, LIMITER_TIMEOUT_MS, signal),
    ready: () => client.ready(),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
