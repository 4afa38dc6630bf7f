import { identify } from '#grpc/admin';
import { systemClock } from '#stdlib/clock';

/** Options of admin calls in tests. The time-out is long enough for a busy machine. */
export const ADMIN_CALL = { timeoutMs: 3_000, clock: systemClock };

/** Incarnation of the node at an address, over a connection that is closed again. */
export async function incarnationAt(
  address: string,
  options: Parameters<typeof identify>[1] = ADMIN_CALL,
): Promise<string> {
  const { incarnation, close } = await identify(address, options);
  close();
  return incarnation;
}
