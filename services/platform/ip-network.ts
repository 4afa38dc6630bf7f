import { isNetwork } from '#platform/host-port';
import { addressText, type IpAddress, readAddress } from '#platform/ip-address';

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
