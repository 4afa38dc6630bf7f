import { RECENT_CALLS_AGE_MS, RECENT_CALLS_MAX } from '#actor-runtime/bounds';
import { faultFor } from '#errors/fault';
import type { Instant } from '#stdlib/clock';
import type { RecentCall } from '#storage/ports/instances';

/**
 * Minimum number of expired entries before the arrays are compacted. Compacting in bulk makes
 * expiry free per call.
 */
const COMPACT_AT = 64;

/** Maximum age of a recovered call relative to the actor's newest call, in milliseconds. */
const RESTORE_AGE_MS_MAX = 3 * RECENT_CALLS_AGE_MS;

/**
 * Maximum age of recovered calls by the wall clock, in milliseconds. No clock is wrong by a day, so
 * older calls need no memory.
 */
const RESTORE_CLOCK_MS_MAX = 24 * 60 * 60 * 1_000;

/**
 * Ids and versions of the calls that an actor committed in the last 20 s. They let an edge retry
 * any call without a second cycle (architecture 3.5).
 *
 * Three parallel arrays of numbers, oldest first. A look-up scans them, because an actor rarely has
 * more than a few dozen.
 */
export class RecentCalls {
  #ids: number[] = [];
  #versions: number[] = [];
  #times: number[] = [];
  #first = 0;

  /** Number of remembered ids. */
  get size(): number {
    return this.#ids.length - this.#first;
  }

  /** Version at which `callId` was committed; undefined if unknown. Id 0 stands for no call. */
  versionOf(callId: number, monotonicMs: number): number | undefined {
    if (callId === 0) return undefined;
    this.#forgetBefore(monotonicMs - RECENT_CALLS_AGE_MS);
    for (let i = this.#ids.length - 1; i >= this.#first; i -= 1) {
      if (this.#ids[i] === callId) return this.#versions[i];
    }
    return undefined;
  }

  /**
   * Throws `service_unavailable` when no further id can be remembered. Call it before any change.
   */
  assertRoom(): void {
    if (this.size < RECENT_CALLS_MAX) return;
    const text = 'too many calls on one instance; use batches';
    throw faultFor('overloaded', text, { retryAfterS: 1 });
  }

  /** Remembers a committed call. */
  add(callId: number, version: number, monotonicMs: number): void {
    if (callId === 0) return;
    this.#ids.push(callId);
    this.#versions.push(version);
    this.#times.push(monotonicMs);
  }

  /** Remembered calls with wall-clock times, for the next activation. */
  list({ monotonicMs, wallMs }: Instant): RecentCall[] {
    this.#forgetBefore(monotonicMs - RECENT_CALLS_AGE_MS);
    const calls: RecentCall[] = [];
    for (let i = this.#first; i < this.#ids.length; i += 1) {
      const atMs = Math.round(wallMs - (monotonicMs - (this.#times[i] ?? 0)));
      calls.push({ callId: this.#ids[i] ?? 0, version: this.#versions[i] ?? 0, atMs });
    }
    return calls;
  }

  /**
   * Remembers calls that another owner committed, oldest first, for 20 s from now on.
   *
   * Ages are relative to the newest call, because our clock may differ from the former owner's. If
   * there are many calls, only the young ones are kept, so that new calls have room.
   */
  restore(calls: readonly RecentCall[], { monotonicMs, wallMs }: Instant): void {
    const newestMs = calls.at(-1)?.atMs ?? 0;
    if (wallMs - newestMs > RESTORE_CLOCK_MS_MAX) return;
    const newer = Math.max(0, calls.length - RECENT_CALLS_MAX / 2);
    for (const [index, { callId, version, atMs }] of calls.entries()) {
      const ageMs = newestMs - atMs;
      const isKept = ageMs < RECENT_CALLS_AGE_MS || (ageMs < RESTORE_AGE_MS_MAX && index >= newer);
      if (isKept) this.add(callId, version, monotonicMs);
    }
  }

  #forgetBefore(oldestMs: number): void {
    while (this.#first < this.#ids.length && (this.#times[this.#first] ?? 0) < oldestMs) {
      this.#first += 1;
    }
    if (this.#first < COMPACT_AT || this.#first * 2 < this.#ids.length) return;
    this.#ids = this.#ids.slice(this.#first);
    this.#versions = this.#versions.slice(this.#first);
    this.#times = this.#times.slice(this.#first);
    this.#first = 0;
  }
}
