import { strict as assert } from 'node:assert';
import { isHostPort } from '#platform/host-port';

/**
 * What gRPC is told to connect to for `address` (`host:port`). With the scheme named, no host can be
 * taken for one: `unix:8100` alone would be a socket's path. Throws for anything but `host:port`,
 * which is refused where an address comes in.
 */
export function dialTargetOf(address: string): string {
  assert(isHostPort(address), 'an address to connect to is host:port');
  return `dns:${address}`;
}
