import type { Answer } from './answer.ts';
import type { Contract } from './models.ts';

/** A contract as it was seen; times in milliseconds of the steady clock. */
export type Seen = {
  readonly contract: Contract;
  /** Cycle of the snapshot that came with it; undefined where none did. */
  readonly cycle: number | undefined;
  /** When what brought it was asked for: it is not older than that. */
  readonly beganAtMs: number;
  /** From when on its age counts: the same for an answer, its arrival for an event. */
  readonly ageFromMs: number;
};

/** The newest contract that a handle of an instance has seen. */
export class HeldContract {
  #held: (Seen & { readonly takenAtMs: number }) | undefined;
  /** The newest cycle seen of the present generation, if any. */
  #cycle: number | undefined;
  #resetAtMs = Number.NEGATIVE_INFINITY;

  /** The contract; undefined until one was seen. */
  get contract(): Contract | undefined {
    return this.#held?.contract;
  }

  /** Milliseconds since the request that brought it began, or since its event came; undefined until one was seen. */
  get ageMs(): number | undefined {
    return this.#held === undefined ? undefined : performance.now() - this.#held.ageFromMs;
  }

  /**
   * Takes a contract, unless the one that is held is newer: what was asked for after that one had come is newer
   * than it; of two that overlap the cycles say which is, or else which was asked for later.
   */
  take(seen: Seen): void {
    if (seen.beganAtMs < this.#resetAtMs || this.#isOlder(seen)) return;
    this.#held = { ...seen, takenAtMs: performance.now() };
    this.#cycle = seen.cycle ?? this.#cycle;
  }

  /** Takes that of an answer, unless it repeats the answer to an earlier call, which may be of any age. */
  takeFrom({ facts, ...times }: Answer, contract: Contract, cycle?: number): void {
    if (facts.isReplayed && facts.attempts === 1) return;
    // The attempt that was carried out is one of those before the one that was answered.
    const beganAtMs = facts.isReplayed ? times.callBeganAtMs : times.beganAtMs;
    this.take({ contract, cycle, beganAtMs, ageFromMs: beganAtMs });
  }

  /** Cycles begin again. What was asked for before `atMs` may be of the generation that has ended. */
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
