import { once } from 'node:events';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { Waits } from '#process/waits';

/** How long a process waits without saying so, in milliseconds: a start takes less. */
const PATIENCE_MS = 2_000;

/** By what a wait is measured, what ends it, and where it is known of. */
type Waiting = {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly waits: Waits;
  readonly logger: Logger;
};

/**
 * What `pending` becomes. Rejects when `signal` aborts; says what it waits for, to probes at once and
 * in the log after 2 s.
 */
export async function patiently<Value>(
  pending: Promise<Value>,
  { clock, signal, waits, logger }: Waiting,
  missing: () => string,
): Promise<Value> {
  using _ = clock.after(PATIENCE_MS, () => {
    logger.info({ missing: missing() }, 'waiting for what this process cannot serve without');
  });
  const given = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  const first = await waits.during(missing, Promise.race([pending, given]));
  signal.throwIfAborted();
  return first as Value;
}

/** Another process that this one cannot serve without. */
export type Peer = {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly connection: { ready(): Promise<void> };
};

/**
 * Fulfils when all peers are connected. Until then it waits, because processes may start in any
 * order. Rejects and reports as `patiently`.
 */
export async function connected(peers: readonly Peer[], waiting: Waiting): Promise<void> {
  const missing = new Set(peers);
  const all = peers.map(async (peer) => {
    await peer.connection.ready();
    missing.delete(peer);
  });
  await patiently(Promise.all(all), waiting, () =>
    [...missing].map(({ name, address }) => `the ${name} at ${address}`).join(' and '),
  );
}
