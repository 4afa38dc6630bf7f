import { engineClientProtocol } from '#wire/engine-codec';
import type { EngineAnswer, EngineCall } from '#wire/engine-messages';
import { FrameClient } from '#wire/frame-client';
import { type PeerConnection, peerConnection } from '#wire/peer-connection';
import { type PeerOptions, peerDefaults } from '#wire/peer-options';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/**
 * Connects to an engine, again and again, until disposed. A call has until its deadline, at most
 * 10 s (architecture 3.5), and fails at once while there is no connection.
 */
export function connectEngine(options: PeerOptions): PeerConnection<EngineCall, EngineAnswer> {
  const peer = peerDefaults(options, 'engine');
  const client = new FrameClient({
    ...peer,
    protocol: engineClientProtocol,
    unavailable: 'engine_unavailable',
    timedOut: 'deadline_exceeded',
  });
  return peerConnection(client, ({ deadlineAtMs }) =>
    Math.min(deadlineAtMs - peer.clock.wallMs(), CALL_TIMEOUT_MS_MAX),
  );
}
