import { isIP } from 'node:net';

/** Whether an IP address is one of this machine's own, reachable from nowhere else (RFC 1122, 4291). */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (isIP(plain) === 4) return plain.startsWith('127.');
  return plain === '::1';
}

/**
 * Whether a `Host` header names this machine. A page of the web that has its own name resolve to
 * 127.0.0.1 (DNS rebinding) still sends its own name.
 */
export function isLoopbackHost(header: string | undefined): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(header ?? '')?.[1] ?? '';
  if (name.toLowerCase() === 'localhost') return true;
  return isLoopbackAddress(name.replace(/^\[(.*)\]$/, '$1'));
}
