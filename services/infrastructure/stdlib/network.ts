import { isIP } from 'node:net';

/**
 * IPv4 address with a port, or IPv6 address in brackets. Some proxies write a caller's address in
 * this form.
 */
const WITH_PORT = /^(?:([\d.]{7,15}):\d{1,5}|\[([^\]]{2,60})\](?::\d{1,5})?)$/;

/** Number of 16-bit groups in an IPv6 address. */
const GROUPS = 8;

/** Groups before the 32 bits of an IPv4-mapped IPv6 address. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];

/** Parsed IP address. */
type IpAddress = {
  readonly isV4: boolean;
  /** Eight groups of the IPv6 form: `::ffff:1.2.3.4` for IPv4. */
  readonly groups: readonly number[];
};

/**
 * Parses an IP address. Undefined for other text. An IPv4-mapped address (`::ffff:1.2.3.4`) is
 * treated as IPv4. A port that a proxy appended to the address is ignored.
 */
export function readAddress(text: string): IpAddress | undefined {
  const address = isIP(text) === 0 ? addressIn(text) : text;
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return { isV4: true, groups: [...MAPPED, ...numbersOf(address)] };
  const groups = groupsOf(address);
  return { isV4: MAPPED.every((group, index) => groups[index] === group), groups };
}

/** Formats an address: dotted IPv4, or IPv6 with the longest run of zeros as `::` (RFC 5952). */
export function addressText({ isV4, groups }: IpAddress): string {
  if (isV4) {
    const [high = 0, low = 0] = groups.slice(MAPPED.length);
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  // The URL parser serializes hosts as in RFC 5952.
  const { hostname } = new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`);
  return hostname.slice(1, -1);
}

function addressIn(text: string): string {
  const [, before, inside] = WITH_PORT.exec(text) ?? [];
  return before ?? inside ?? '';
}

/** Groups of an IPv6 address that `isIP` has accepted. */
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

/** Bits per group. */
const GROUP_BITS = 16;

/** Prefix length that all IPv4-mapped addresses share. */
const V4_PREFIX = 96;

/** Network: all addresses of one kind with the same prefix. */
export type IpNetwork = IpAddress & {
  /** Prefix length of the IPv6 form, in bits. */
  readonly prefix: number;
};

/**
 * Parses a network in CIDR notation, or a single address. Undefined for other text. Bits behind the
 * prefix are cleared, and an IPv4-mapped network is treated as IPv4. A prefix of 0 is not accepted.
 */
export function readNetwork(cidr: string): IpNetwork | undefined {
  if (!isNetwork(cidr)) return undefined;
  const [text = '', bits] = cidr.split('/');
  const address = readAddress(text);
  if (address === undefined) return undefined;
  const isWrittenV6 = text.includes(':');
  const given = bits === undefined ? 8 * GROUP_BITS : Number(bits);
  const prefix = bits === undefined || isWrittenV6 ? given : V4_PREFIX + given;
  // A prefix shorter than the IPv4-mapped prefix also covers IPv6 addresses.
  const isV4 = address.isV4 && prefix > V4_PREFIX;
  const groups = address.groups.map((group, index) => group & maskOf(prefix, index));
  return { isV4, groups, prefix };
}

/** Canonical CIDR notation of a network. */
export function networkText(network: IpNetwork): string {
  const { isV4, prefix } = network;
  return `${addressText(network)}/${isV4 ? prefix - V4_PREFIX : prefix}`;
}

/** Whether a network contains an address. An IPv6 network contains no IPv4 address. */
export function contains({ isV4, groups, prefix }: IpNetwork, address: IpAddress): boolean {
  if (isV4 !== address.isV4) return false;
  for (let index = 0; index * GROUP_BITS < prefix; index += 1) {
    const differing = (groups[index] ?? 0) ^ (address.groups[index] ?? 0);
    if ((differing & maskOf(prefix, index)) !== 0) return false;
  }
  return true;
}

/** Mask of the bits in a group that a prefix covers. */
function maskOf(prefix: number, index: number): number {
  const bits = Math.max(0, Math.min(GROUP_BITS, prefix - index * GROUP_BITS));
  return (0xffff << (GROUP_BITS - bits)) & 0xffff;
}

/** Maximum length of a host name (RFC 1035), in characters. */
const HOST_LENGTH_MAX = 253;

const PORT_MAX = 65_535;

/** DNS name or IPv4 address, or IPv6 address in brackets. */
const SHAPE =
  /^(?<host>[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\]):(?<port>\d{1,5})$/;

/** Host as Node's functions expect it, without brackets, and port. */
type HostPort = { readonly host: string; readonly port: number };

/**
 * Parses `host:port`, the only form of address that a process connects to. Undefined for anything
 * else, for example `unix:/…`, a URL, or a host without a port.
 */
export function readHostPort(address: string): HostPort | undefined {
  const { host = '', port = '' } = SHAPE.exec(address)?.groups ?? {};
  if (host === '' || host.length > HOST_LENGTH_MAX || Number(port) > PORT_MAX) return undefined;
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port: Number(port) };
}

/** Whether a text is exactly `host:port`. */
export function isHostPort(address: string): boolean {
  return readHostPort(address) !== undefined;
}

/** Whether a text is an IP address, or a network in CIDR notation. */
export function isNetwork(cidr: string): boolean {
  const [address = '', prefix, ...rest] = cidr.split('/');
  const version = rest.length === 0 ? isIP(address) : 0;
  const bits = version === 4 ? 32 : 128;
  if (prefix === undefined) return version !== 0;
  return version !== 0 && /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits;
}

/** Whether an IP address is a loopback address (RFC 1122, 4291). */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (isIP(plain) === 4) return plain.startsWith('127.');
  return plain === '::1';
}

/**
 * Whether a `Host` header names this machine. A web page whose name resolves to 127.0.0.1 (DNS
 * rebinding) still sends its own name.
 */
export function isLoopbackHost(header: string | undefined): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(header ?? '')?.[1] ?? '';
  if (name.toLowerCase() === 'localhost') return true;
  return isLoopbackAddress(name.replace(/^\[(.*)\]$/, '$1'));
}

/**
 * Time for which a listener keeps an idle connection open, in milliseconds. Longer than the idle
 * timeouts of clients and load balancers, so that no request is sent over a connection that is
 * being closed.
 */
export const IDLE_CONNECTION_MS_MAX = 72_000;
