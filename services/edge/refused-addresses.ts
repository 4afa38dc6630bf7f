import { BarTable } from '#edge/bar-table';
import { type Network, networkOf } from '#edge/network-of';
import type { Clock } from '#platform/clock';
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
