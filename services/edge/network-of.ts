import { isIP } from 'node:net';

/** Who is counted together when keys are refused. */
export type Network = {
  /** An IPv4 address, or the /64 of an IPv6 address: the least that one subscriber is given. */
  readonly name: string;
  /** The /48 around an IPv6 network: 65,536 of them cost an attacker no more than one. */
  readonly site: string | undefined;
};

/** What a proxy that we trust named as the caller and is no address: all such callers together. */
const UNREADABLE: Network = { name: 'unreadable', site: undefined };

/** An IPv4 address with a port, or an IPv6 address in brackets, as some proxies write a caller. */
const WITH_PORT = /^(?:([\d.]{7,15}):\d{1,5}|\[([^\]]{2,60})\](?::\d{1,5})?)$/;

/** Groups of 16 bits in an IPv6 address, in its /64 and in its /48. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;
const SITE_GROUPS = 3;

/**
 * The network of an address as text. IPv4 written as IPv6 (`::ffff:1.2.3.4`) is IPv4, and a port
 * that a proxy leaves with the address is not looked at.
 */
export function networkOf(text: string): Network {
  const address = isIP(text) === 0 ? addressIn(text) : text;
  const version = isIP(address);
  if (version === 0) return UNREADABLE;
  if (version === 4) return { name: address, site: undefined };
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(GROUPS - 2);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return { name: [high >> 8, high & 255, low >> 8, low & 255].join('.'), site: undefined };
  return { name: prefixOf(groups, NETWORK_GROUPS), site: prefixOf(groups, SITE_GROUPS) };
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

function prefixOf(groups: readonly number[], count: number): string {
  const shown = groups.slice(0, count).map((group) => group.toString(16));
  return `${shown.join(':')}::/${count * 16}`;
}
