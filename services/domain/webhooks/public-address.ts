import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Global unicast addresses of IPv6. All others are local, reserved, or contain an IPv4 address. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** IP address in the host of a URL; undefined if the host is a name. */
export function addressIn(hostname: string): string | undefined {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) > 0 ? address : undefined;
}

/**
 * Whether an IP address is on the internet: in no private, local, shared or reserved network. An
 * IPv4 address in an IPv6 address counts as the IPv4 address, or is refused.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv6' && !parsed.match(GLOBAL_IPV6)) return false;
  return parsed.range() === 'unicast';
}
