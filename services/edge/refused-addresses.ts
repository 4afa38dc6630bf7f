import { putNewest } from '#edge/put-newest';
import type { Clock } from '#platform/clock';

/** Refused keys an address may send in a minute before unknown keys are no longer looked up. */
const REFUSALS_PER_MINUTE_MAX = 30;

/** Addresses and keys remembered; the oldest is forgotten first. Source: limiter-headers. */
const ENTRIES_MAX = 10_000;

const MINUTE_MS = 60_000;

type Refusals = { count: number; readonly sinceMs: number };

/**
 * Counts keys that the limiter refused, per address and never per account: beyond 30 a minute, keys
 * that were not admitted here in the last minute are refused without asking (limiter-headers), so
 * that guessing keys costs the limiter nothing.
 */
export class RefusedAddresses {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, Refusals>();
  readonly #admittedMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the limiter did not know a key sent from `address`. */
  count(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#refusals.get(address);
    if (known !== undefined && nowMs - known.sinceMs < MINUTE_MS) known.count += 1;
    else putNewest(this.#refusals, address, { count: 1, sinceMs: nowMs }, ENTRIES_MAX);
  }

  /** Notes that the limiter knew the key. */
  admit(keyDigest: string): void {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#admittedMs.get(keyDigest);
    if (lastMs === undefined || nowMs - lastMs > 1_000) {
      putNewest(this.#admittedMs, keyDigest, nowMs, ENTRIES_MAX);
    }
  }

  /** Whether a key from this address is refused unasked. */
  isBarred(address: string, keyDigest: string): boolean {
    if (this.#refusals.size === 0) return false;
    const nowMs = this.#clock.monotonicMs();
    const refusals = this.#refusals.get(address);
    if (refusals === undefined || nowMs - refusals.sinceMs >= MINUTE_MS) return false;
    if (refusals.count < REFUSALS_PER_MINUTE_MAX) return false;
    return nowMs - (this.#admittedMs.get(keyDigest) ?? Number.NEGATIVE_INFINITY) > MINUTE_MS;
  }
}
