import type { Contract } from './models.ts';

/** A contract with the moment at which what brought it began, in milliseconds of the monotonic clock. */
type Held = { readonly contract: Contract; readonly beganAtMs: number };

/** The newest contract that a handle of an instance has seen. */
export class HeldContract {
  #held: Held | undefined;

  /** The contract; undefined until one was seen. */
  get contract(): Contract | undefined {
    return this.#held?.contract;
  }

  /** Milliseconds since the request that brought it began; undefined until one was seen. */
  get ageMs(): number | undefined {
    return this.#held === undefined ? undefined : performance.now() - this.#held.beganAtMs;
  }

  /**
   * Takes a contract, unless one is held whose request began later: answers that overtake each other do not
   * bring an old contract back.
   */
  take(contract: Contract, beganAtMs: number): void {
    if (this.#held !== undefined && beganAtMs < this.#held.beganAtMs) return;
    this.#held = { contract, beganAtMs };
  }
}
