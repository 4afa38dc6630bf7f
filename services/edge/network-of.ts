import { addressText, readAddress } from '#platform/ip-address';

/** Who is counted together when keys are refused. */
export type Network = {
  /** An IPv4 address, or the /64 of an IPv6 address: the least that one subscriber is given. */
  readonly name: string;
  /** The /48 around an IPv6 network: 65,536 of them cost an attacker no more than one. */
  readonly site: string | undefined;
};

/** What a proxy that we trust named as the caller and is no address: all such callers together. */
const UNREADABLE: Network = { name: 'unreadable', site: undefined };

/** Groups of 16 bits in the /64 of an IPv6 address and in its /48. */
const NETWORK_GROUPS = 4;
const SITE_GROUPS = 3;

/** The network of an address as text, as `readAddress` reads it. */
export function networkOf(text: string): Network {
  const address = readAddress(text);
  if (address === undefined) return UNREADABLE;
  if (address.isV4) return { name: addressText(address), site: undefined };
  const { groups } = address;
  return { name: prefixOf(groups, NETWORK_GROUPS), site: prefixOf(groups, SITE_GROUPS) };
}

function prefixOf(groups: readonly number[], count: number): string {
  const shown = groups.slice(0, count).map((group) => group.toString(16));
  return `${shown.join(':')}::/${count * 16}`;
}
