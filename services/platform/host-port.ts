import { isIP } from 'node:net';

/** Characters of a host name (RFC 1035), and of an address with brackets or a port. */
const HOST_LENGTH_MAX = 253;

const PORT_MAX = 65_535;

/** Labels of a DNS name or an IPv4 address; or an IPv6 address in brackets. */
const SHAPE =
  /^(?<host>[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):(?<port>\d{1,5})$/;

/** A host, as Node's own functions take it, and a port. */
type HostPort = { readonly host: string; readonly port: number };

/**
 * Reads `host:port`, the only form of address that a process connects to; undefined
 * for anything else, such as `unix:/…`, a URL, or a host without a port.
 */
export function readHostPort(address: string): HostPort | undefined {
  const { host = '', port = '' } = SHAPE.exec(address)?.groups ?? {};
  if (host === '' || host.length > HOST_LENGTH_MAX || Number(port) > PORT_MAX) return undefined;
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port: Number(port) };
}

/** Whether a text is `host:port` and nothing else. */
export function isHostPort(address: string): boolean {
  return readHostPort(address) !== undefined;
}

/** Whether a text is an IP address, or a network of them in CIDR notation. */
export function isNetwork(cidr: string): boolean {
  const [address = '', prefix, ...rest] = cidr.split('/');
  const version = rest.length === 0 ? isIP(address) : 0;
  const bits = version === 4 ? 32 : 128;
  if (prefix === undefined) return version !== 0;
  return version !== 0 && /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits;
}
