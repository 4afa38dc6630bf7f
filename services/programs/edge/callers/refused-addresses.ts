import type { Clock } from '#stdlib/clock';
import { addressText, readAddress } from '#stdlib/network';
import { putNewest } from '#stdlib/put-newest';

/** Refused keys of one network in a minute after which the network is barred. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** Maximum number of unknown keys of a barred network that are looked up in any second. */
const LOOKUPS_PER_SECOND_MAX = 5;

/** Limits of a /48, as a multiple of the limits of one network. */
const NETWORKS_PER_SITE = 10;

/** Maximum number of keys remembered as admitted. The oldest is evicted first. */
const KNOWN_KEYS_MAX = 10_000;

/** Time for which a key counts as known after its last admission here, in milliseconds. */
const KNOWN_MS = 900_000;

/** Precision of the stored admission time, in milliseconds. Saves a map update per call. */
const KNOWN_STEP_MS = 1_000;

/**
 * Counts refused keys per network, and bars networks that guess keys. Source: decision 159.
 *
 * A network with 30 refused keys in a minute is barred for a minute: only 5 of its unknown keys a
 * second are looked up. So guessed keys cost the limiter almost nothing. Other keys get no verdict
 * "invalid", because they were not looked up.
 *
 * Keys that this edge admitted recently are exempt: behind a load balancer, an attacker and honest
 * callers share one address. Counts are never kept per account.
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

  /** Calls `onBar` with the name of every network or /48 that becomes barred. */
  constructor(clock: Clock, onBar: (network: string) => void) {
    this.#clock = clock;
    this.#onBar = onBar;
  }

  /** Whether any network or /48 may be barred. If not, callers skip all other checks. */
  get hasBars(): boolean {
    if (this.#networks.isEmpty && this.#sites.isEmpty) return false;
    const nowMs = this.#clock.monotonicMs();
    return this.#networks.hasBars(nowMs) || this.#sites.hasBars(nowMs);
  }

  /** Records that the limiter did not recognise a key from `address`. */
  count(address: string, keyDigest: string): void {
    this.#admittedMs.delete(keyDigest);
    const { name, site } = networkOf(address);
    const nowMs = this.#clock.monotonicMs();
    if (this.#networks.count(name, nowMs)) this.#onBar(name);
    if (site !== undefined && this.#sites.count(site, nowMs)) this.#onBar(site);
  }

  /** Records that the limiter recognised the key. Returns whether the key is new to this edge. */
  admit(keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#admittedMs.get(keyDigest);
    if (lastMs === undefined || nowMs - lastMs > KNOWN_STEP_MS) {
      putNewest(this.#admittedMs, keyDigest, nowMs, KNOWN_KEYS_MAX);
    }
    return lastMs === undefined;
  }

  /** Whether a key from this address would be refused without a look-up now. Counts nothing. */
  isBarred(address: string, keyDigest: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    return !this.#isKnown(keyDigest, nowMs) && this.#isSpent(networkOf(address), nowMs);
  }

  /** Whether a key from this address may be looked up. Counts the look-up of a barred address. */
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

/** Maximum number of entries in each map of a table. The oldest is evicted first. */
const ENTRIES_MAX = 10_000;

/** Window in which refusals are counted, and duration of a bar, in milliseconds. */
const MINUTE_MS = 60_000;

/** Window in which look-ups are counted, in milliseconds. */
const SECOND_MS = 1_000;

/** Limits of one kind of source: refusals that cause a bar, and look-ups during a bar. */
type BarLimits = {
  readonly refusalsPerMinute: number;
  readonly lookupsPerSecond: number;
};

type Count = { refusals: number; readonly sinceMs: number };

type Bar = {
  readonly untilMs: number;
  /** Times of the latest look-ups of unknown keys, newest last; at most `lookupsPerSecond`. */
  readonly lookupsMs: number[];
};

/**
 * Sources of refused keys. A source is counted for a minute, then barred for a minute.
 *
 * Bars have a separate map, so that new counts cannot evict bars. To evict a bar, an attacker must
 * fill the whole table with bars, and each bar costs a minute's refusals.
 */
class BarTable {
  readonly #limits: BarLimits;
  readonly #counts = new Map<string, Count>();
  readonly #bars = new Map<string, Bar>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: BarLimits) {
    this.#limits = limits;
  }

  /** Whether the table holds no bar. */
  get isEmpty(): boolean {
    return this.#bars.size === 0;
  }

  /**
   * Whether any source is barred. Drops expired bars at most once a second, so a bar may still
   * count for a second after its end. Every call pays for a table with bars.
   */
  hasBars(nowMs: number): boolean {
    if (this.#bars.size > 0 && nowMs - this.#lookedMs >= SECOND_MS) {
      this.#lookedMs = nowMs;
      this.#dropExpired(nowMs);
    }
    return this.#bars.size > 0;
  }

  /** Counts a refused key. Returns whether the source becomes barred by this refusal. */
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

  /** Whether the source is barred and has used up the look-ups of the last second. */
  isSpent(source: string, nowMs: number): boolean {
    const bar = this.#barOf(source, nowMs);
    if (bar === undefined || bar.lookupsMs.length < this.#limits.lookupsPerSecond) return false;
    return nowMs - (bar.lookupsMs[0] ?? nowMs) < SECOND_MS;
  }

  /** Records the look-up of an unknown key of a barred source. */
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

  /**
   * Drops expired bars. The map is ordered by end time, so the loop stops at the first live bar.
   */
  #dropExpired(nowMs: number): void {
    for (const [source, { untilMs }] of this.#bars) {
      if (nowMs < untilMs) return;
      this.#bars.delete(source);
    }
  }
}

/** Addresses that are counted together when keys are refused. */
export type Network = {
  /** An IPv4 address, or the /64 of an IPv6 address, the smallest block of one subscriber. */
  readonly name: string;
  /** The /48 around an IPv6 network; an attacker gets its 65,536 networks at the price of one. */
  readonly site: string | undefined;
};

/** Network of all callers whose trusted proxy named no valid address. */
const UNREADABLE: Network = { name: 'unreadable', site: undefined };

/** Number of 16-bit groups in the /64 and in the /48 of an IPv6 address. */
const NETWORK_GROUPS = 4;
const SITE_GROUPS = 3;

/** The network of an address. `text` is parsed by `readAddress`. */
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
