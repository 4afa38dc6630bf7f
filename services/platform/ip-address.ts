import { isIP } from 'node:net';

/** An IPv4 address with a port, or an IPv6 address in brackets, as some proxies write a caller. */
const WITH_PORT = /^(?:([\d.]{7,15}):\d{1,5}|\[([^\]]{2,60})\](?::\d{1,5})?)$/;

/** Groups of 16 bits in an IPv6 address. */
const GROUPS = 8;

/** What stands before the 32 bits of an IPv4 address that is written as IPv6. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];

/** An address as numbers. */
export type IpAddress = {
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
