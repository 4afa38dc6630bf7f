import type { Clock } from '#platform/clock';
import { addressText, readAddress } from '#platform/network';
import { putNewest } from '#platform/put-newest';

/** Refused keys an address may send in a minute before unknown keys are looked up less often. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** Unknown keys of a barred address that are still looked up in any second. */
const LOOKUPS_PER_SECOND_MAX = 5;

/** How many networks of a /48 are worth one of its own: then all of it together is barred. */
const NETWORKS_PER_SITE = 10;

/** Keys remembered as admitted; the oldest is forgotten first. */
const KNOWN_KEYS_MAX = 10_000;

/** How long a key counts as known after it was last admitted here, in milliseconds. */
const KNOWN_MS = 900_000;

/** How much older than the truth the time of an admission may be, in milliseconds. */
const KNOWN_STEP_MS = 1_000;

/**
 * Counts keys that the limiter refused, per network and never per account: from one with 30 in a
 * minute only 5 unknown keys a second are looked up for the next minute, so that guessing keys
 * costs the limiter next to nothing. The others are not called invalid, because they were not
 * looked up, and keys that were admitted here recently are not concerned at all: behind a balancer
 * an attacker and all other callers have one address. Source: decision 159.
 */
export class RefusedAddresses {
  readonly #clock: Clock;
  readonly #onBar: (network: string) => void;
  readonly #networks = new BarTable({
    refusalsPerMinute: REFUSALS_PER_MINUTE_MAX,
    lookupsPerSecond: LOOKUPS_PER_SECOND_MAX,
  });
  readonly #sites = new BarTable({
    refusalsPerMinute: NETWORKS_PER_SITE * REFUSALS_PER_MINUTE_MAX,
    lookupsPerSecond: NETWORKS_PER_SITE * LOOKUPS_PER_SECOND_MAX,
  });
  readonly #admittedMs = new Map<string, number>();

  /** `onBar` is called with the name of every network that is barred. */
  constructor(clock: Clock, onBar: (network: string) => void) {
    this.#clock = clock;
    this.#onBar = onBar;
  }

  /** Whether any address may be barred: if not, nothing else needs to be asked. */
  get hasBars(): boolean {
    if (this.#networks.isEmpty && this.#sites.isEmpty) return false;
    const nowMs = this.#clock.monotonicMs();
    return this.#networks.hasBars(nowMs) || this.#sites.hasBars(nowMs);
  }

  /** Notes that the limiter did not know a key sent from `address`. */
  count(address: string, keyDigest: string): void {
    this.#admittedMs.delete(keyDigest);
    const { name, site } = networkOf(address);
    const nowMs = this.#clock.monotonicMs();
    if (this.#networks.count(name, nowMs)) this.#onBar(name);
    if (site !== undefined && this.#sites.count(site, nowMs)) this.#onBar(site);
  }

  /** Notes that the limiter knew the key. Returns whether this edge did not know it before. */
  admit(keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#admittedMs.get(keyDigest);
    if (lastMs === undefined || nowMs - lastMs > KNOWN_STEP_MS) {
      putNewest(this.#admittedMs, keyDigest, nowMs, KNOWN_KEYS_MAX);
    }
    return lastMs === undefined;
  }

  /** Whether a key from this address would be refused unasked now. Counts nothing. */
  isBarred(address: string, keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    return !this.#isKnown(keyDigest, nowMs) && this.#isSpent(networkOf(address), nowMs);
  }

  /** Whether a key from this address may be looked up; a look-up from a barred one is counted. */
  mayAsk(address: string, keyDigest: string): boolean {
    if (!this.hasBars) return true;
    const nowMs = this.#clock.monotonicMs();
    if (this.#isKnown(keyDigest, nowMs)) return true;
    const network = networkOf(address);
    if (this.#isSpent(network, nowMs)) return false;
    const { name, site } = network;
    this.#networks.spend(name, nowMs);
    if (site !== undefined) this.#sites.spend(site, nowMs);
    return true;
  }

  #isSpent({ name, site }: Network, nowMs: number): boolean {
    if (this.#networks.isSpent(name, nowMs)) return true;
    return site !== undefined && this.#sites.isSpent(site, nowMs);
  }

  #isKnown(keyDigest: string, nowMs: number): boolean {
    const admittedMs = this.#admittedMs.get(keyDigest);
    return admittedMs !== undefined && nowMs - admittedMs <= KNOWN_MS;
  }
}

/** Entries of each of a table's two maps; the oldest is forgotten first. */
const ENTRIES_MAX = 10_000;

/** The window in which refusals are counted, and how long a bar stands, in milliseconds. */
const MINUTE_MS = 60_000;

/** The window of look-ups, in milliseconds. */
const SECOND_MS = 1_000;

/** When a source is barred, and what it is granted even then. */
type BarLimits = {
  readonly refusalsPerMinute: number;
  readonly lookupsPerSecond: number;
};

type Count = { refusals: number; readonly sinceMs: number };

type Bar = {
  readonly untilMs: number;
  /** When unknown keys were looked up, the newest last: no more than may be in a second. */
  readonly lookupsMs: number[];
};

/**
 * Sources of refused keys: counted for a minute, then barred for a minute. Those that are barred
 * have a map of their own, so that a source which only begins to be counted can never push one out:
 * that takes as many bars as the table holds, each of which costs its source a minute's refusals.
 */
class BarTable {
  readonly #limits: BarLimits;
  readonly #counts = new Map<string, Count>();
  readonly #bars = new Map<string, Bar>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: BarLimits) {
    this.#limits = limits;
  }

  /** Whether no source is remembered as barred. */
  get isEmpty(): boolean {
    return this.#bars.size === 0;
  }

  /**
   * Whether a source is barred, or was a second ago: bars that have ended are dropped here, because
   * every call pays for a table that has any.
   */
  hasBars(nowMs: number): boolean {
    if (this.#bars.size > 0 && nowMs - this.#lookedMs >= SECOND_MS) {
      this.#lookedMs = nowMs;
      this.#dropExpired(nowMs);
    }
    return this.#bars.size > 0;
  }

  /** Counts a refused key. Returns whether the source is barred from now on. */
  count(source: string, nowMs: number): boolean {
    if (this.#barOf(source, nowMs) !== undefined) return false;
    let count = this.#counts.get(source);
    if (count === undefined || nowMs - count.sinceMs >= MINUTE_MS) {
      count = { refusals: 0, sinceMs: nowMs };
      putNewest(this.#counts, source, count, ENTRIES_MAX);
    }
    count.refusals += 1;
    if (count.refusals < this.#limits.refusalsPerMinute) return false;
    this.#counts.delete(source);
    this.#dropExpired(nowMs);
    putNewest(this.#bars, source, { untilMs: nowMs + MINUTE_MS, lookupsMs: [] }, ENTRIES_MAX);
    return true;
  }

  /** Whether the source is barred and has had this second's look-ups. */
  isSpent(source: string, nowMs: number): boolean {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined || bar.lookupsMs.length < this.#limits.lookupsPerSecond) return false;
    return nowMs - (bar.lookupsMs[0] ?? nowMs) < SECOND_MS;
  }

  /** Notes that an unknown key of the source is looked up. */
  spend(source: string, nowMs: number): void {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined) return;
    bar.lookupsMs.push(nowMs);
    if (bar.lookupsMs.length > this.#limits.lookupsPerSecond) bar.lookupsMs.shift();
  }

  #barOf(source: string, nowMs: number): Bar | undefined {
    const bar = this.#bars.get(source);
    return bar === undefined || nowMs >= bar.untilMs ? undefined : bar;
  }

  /** Bars stand in the order of their ends. */
  #dropExpired(nowMs: number): void {
    for (const [source, { untilMs }] of this.#bars) {
      if (nowMs < untilMs) return;
      this.#bars.delete(source);
    }
  }
}

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
