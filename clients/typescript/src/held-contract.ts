import type { Answer } from './answer.ts';
import type { Contract } from './models.ts';

/** A received contract; times in monotonic milliseconds. */
export type Seen = {
  readonly contract: Contract;
  /** Cycle of the snapshot in the same answer; undefined without a snapshot. */
  readonly cycle: number | undefined;
  /** Start of the request. The contract is at least this new. */
  readonly beganAtMs: number;
  /** Time from which the age counts: start of the request, or arrival of an event. */
  readonly ageFromMs: number;
};

/** Newest contract received by a handle of an instance. */
export class HeldContract {
  #held: (Seen & { readonly takenAtMs: number }) | undefined;
  /** Newest received cycle of the current generation. */
  #cycle: number | undefined;
  #resetAtMs = Number.NEGATIVE_INFINITY;

  /** Newest contract; undefined before the first contract. */
  get contract(): Contract | undefined {
    return this.#held?.contract;
  }

  /**
   * Age of the contract in milliseconds, from the start of the request or the arrival of the event.
   * Undefined before the first contract.
   */
  get ageMs(): number | undefined {
    return this.#held === undefined ? undefined : performance.now() - this.#held.ageFromMs;
  }

  /**
   * Stores a contract unless the stored contract is newer. The answer to a request that started
   * after the stored contract arrived is newer. Of two overlapping requests, the later cycle is
   * newer. If the cycles are equal or unknown, the later start is newer.
   */
  take(seen: Seen): void {
    if (seen.beganAtMs < this.#resetAtMs || this.#isOlder(seen)) return;
    this.#held = { ...seen, takenAtMs: performance.now() };
    this.#cycle = seen.cycle ?? this.#cycle;
  }

  /**
   * Stores the contract of an answer. Skips replays of earlier calls, which may be arbitrarily old.
   */
  takeFrom({ facts, ...times }: Answer, contract: Contract, cycle?: number): void {
    if (facts.isReplayed && facts.attempts === 1) return;
    // A replayed answer may belong to any attempt of the call, so count from the first attempt.
    const beganAtMs = facts.isReplayed ? times.callBeganAtMs : times.beganAtMs;
    this.take({ contract, cycle, beganAtMs, ageFromMs: beganAtMs });
  }

  /** Starts a new generation. Ignores contracts requested before `atMs`, which may be older. */
  reset(atMs = Number.NEGATIVE_INFINITY): void {
    this.#cycle = undefined;
    this.#resetAtMs = Math.max(this.#resetAtMs, atMs);
  }

  #isOlder({ cycle, beganAtMs, ageFromMs }: Seen): boolean {
    const held = this.#held;
    if (held === undefined || beganAtMs >= held.takenAtMs) return false;
    if (cycle !== undefined && this.#cycle !== undefined) {
      if (cycle < this.#cycle) return true;
      if (held.cycle !== undefined && cycle > this.#cycle) return false;
      if (held.cycle === undefined && cycle === this.#cycle) return true;
    }
    return ageFromMs < held.ageFromMs;
  }
}
