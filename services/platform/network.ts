import { isIP } from 'node:net';

/** An IPv4 address with a port, or an IPv6 address in brackets, as some proxies write a caller. */
const WITH_PORT = /^(?:([\d.]{7,15}):\d{1,5}|\[([^\]]{2,60})\](?::\d{1,5})?)$/;

/** Groups of 16 bits in an IPv6 address. */
const GROUPS = 8;

/** What stands before the 32 bits of an IPv4 address that is written as IPv6. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];

/** An address as numbers. */
type IpAddress = {
  readonly isV4: boolean;
  /** The eight groups of its IPv6 form: `::ffff:1.2.3.4` for IPv4. */
  readonly groups: readonly number[];
};

/**
 * The address that a text is; undefined: none. IPv4 written as IPv6 (`::ffff:1.2.3.4`) is IPv4, and
 * a port that a proxy leaves with the address is not looked at.
 */
export function readAddress(text: string): IpAddress | undefined {
  const address = isIP(text) === 0 ? addressIn(text) : text;
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return { isV4: true, groups: [...MAPPED, ...numbersOf(address)] };
  const groups = groupsOf(address);
  return { isV4: MAPPED.every((group, index) => groups[index] === group), groups };
}

/** An address as text: four numbers, or eight groups of which the longest run of zeros is `::`. */
export function addressText({ isV4, groups }: IpAddress): string {
  if (isV4) {
    const [high = 0, low = 0] = groups.slice(MAPPED.length);
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  // The serialisation of hosts in URLs is that of RFC 5952.
  const { hostname } = new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`);
  return hostname.slice(1, -1);
}

function addressIn(text: string): string {
  const [, before, inside] = WITH_PORT.exec(text) ?? [];
  return before ?? inside ?? '';
}

/** The eight numbers of an IPv6 address that `isIP` has accepted. */
function groupsOf(address: string): number[] {
  const [plain = ''] = address.split('%', 1);
  const [before = '', after] = plain.split('::');
  const head = numbersOf(before);
  if (after === undefined) return head;
  const tail = numbersOf(after);
  const gap = Array.from({ length: GROUPS - head.length - tail.length }, () => 0);
  return [...head, ...gap, ...tail];
}

function numbersOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** Bits of a group. */
const GROUP_BITS = 16;

/** Bits in which every IPv4 address is the same, written as IPv6. */
const V4_PREFIX = 96;

/** All addresses of one kind that begin with the same bits. */
export type IpNetwork = IpAddress & {
  /** How many bits, of the IPv6 form. */
  readonly prefix: number;
};

/**
 * The network that a text in CIDR notation is, or the one address; undefined: neither. Bits behind
 * the prefix are dropped, and IPv4 written as IPv6 is IPv4. Never all addresses there are.
 */
export function readNetwork(cidr: string): IpNetwork | undefined {
  if (!isNetwork(cidr)) return undefined;
  const [text = '', bits] = cidr.split('/');
  const address = readAddress(text);
  if (address === undefined) return undefined;
  const isWrittenV6 = text.includes(':');
  const given = bits === undefined ? 8 * GROUP_BITS : Number(bits);
  const prefix = bits === undefined || isWrittenV6 ? given : V4_PREFIX + given;
  // A prefix that is cut before the mark of IPv4 names IPv6 addresses as well.
  const isV4 = address.isV4 && prefix > V4_PREFIX;
  const groups = address.groups.map((group, index) => group & maskOf(prefix, index));
  return { isV4, groups, prefix };
}

/** A network in CIDR notation, the same text for every way to write it. */
export function networkText(network: IpNetwork): string {
  const { isV4, prefix } = network;
  return `${addressText(network)}/${isV4 ? prefix - V4_PREFIX : prefix}`;
}

/** Whether an address is one of a network. An IPv4 address is in no network of IPv6. */
export function contains({ isV4, groups, prefix }: IpNetwork, address: IpAddress): boolean {
  if (isV4 !== address.isV4) return false;
  for (let index = 0; index * GROUP_BITS < prefix; index += 1) {
    const differing = (groups[index] ?? 0) ^ (address.groups[index] ?? 0);
    if ((differing & maskOf(prefix, index)) !== 0) return false;
  }
  return true;
}

/** The bits of a group that a prefix covers. */
function maskOf(prefix: number, index: number): number {
  const bits = Math.max(0, Math.min(GROUP_BITS, prefix - index * GROUP_BITS));
  return (0xffff << (GROUP_BITS - bits)) & 0xffff;
}

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

/**
 * How long a listener keeps a connection without a request, in milliseconds: longer than clients and load
 * balancers keep one, so that none of them sends a request over a connection that just ends. Chosen.
 */
export const IDLE_CONNECTION_MS_MAX = 72_000;
