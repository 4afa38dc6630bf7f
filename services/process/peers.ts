import { once } from 'node:events';
import type { Clock } from '#platform/clock';

/** How long a peer may be missing before an operator is told, in milliseconds: a start takes less. */
const PATIENCE_MS = 2_000;

/** Another process that this one cannot serve without. */
export type Peer = {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly connection: { ready(): Promise<void> };
};

/**
 * Fulfils when all peers are connected. Until then it waits, because processes may start in any
 * order; after 2 s it says on standard error what for. Rejects when `signal` aborts.
 */
export async function connected(
  peers: readonly Peer[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const missing = new Set(peers);
  const all = peers.map(async (peer) => {
    await peer.connection.ready();
    missing.delete(peer);
  });
  using _ = clock.after(PATIENCE_MS, () => {
    const names = [...missing].map(({ name, address }) => `the ${name} at ${address}`);
    process.stderr.write(`waiting for ${names.join(' and ')}\n`);
  });
  const given = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  await Promise.race([Promise.all(all), given]);
  signal.throwIfAborted();
}
