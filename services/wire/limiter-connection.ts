import { FrameClient } from '#wire/frame-client';
import { limiterClientProtocol } from '#wire/limiter-codec';
import type { LimiterAnswer, LimiterCall } from '#wire/limiter-messages';
import { type PeerConnection, peerConnection } from '#wire/peer-connection';
import { type PeerOptions, peerDefaults } from '#wire/peer-options';
import { LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/**
 * Connects to a limiter, again and again, until disposed. A call has `timeoutMs`, 100 ms unless told
 * otherwise (architecture 4), and fails at once while there is no connection; either way it is
 * `limiter_unavailable`.
 */
export function connectLimiter(
  options: PeerOptions & {
    /** How long an answer may take, in milliseconds. */
    readonly timeoutMs?: number;
  },
): PeerConnection<LimiterCall, LimiterAnswer> {
  const { timeoutMs = LIMITER_TIMEOUT_MS } = options;
  const client = new FrameClient({
    ...peerDefaults(options, 'limiter'),
    protocol: limiterClientProtocol,
    unavailable: 'limiter_unavailable',
    timedOut: 'limiter_unavailable',
  });
  return peerConnection(client, () => timeoutMs);
}
