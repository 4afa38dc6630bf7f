import { SimulationFailure, simulate } from '#test/simulation/simulate';
import type { Variant } from '#test/simulation/variant';
import { Violation } from '#test/simulation/version-index';

/** What showed a variant, and the number of seeds that it took. */
export type Catch = {
  readonly seeds: number;
  readonly found: string;
  /** Seeds that failed with nothing broken too, and so say nothing of the variant. */
  readonly unsound: readonly number[];
};

/**
 * Runs a variant, seed after seed from 1 on, until something is found that the same seed does not
 * find in the code as it is: without that comparison a fault of the code itself would pass for a
 * variant that was caught. Undefined: nothing showed it.
 */
export async function catchVariant(variant: Variant, seedsMax: number): Promise<Catch | undefined> {
  const unsound: number[] = [];
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    const found = await findingOf(seed, variant);
    if (found === undefined) continue;
    const { name, requested } = variant;
    const control = await findingOf(seed, { name, requested });
    if (control === undefined) return { seeds: seed, found, unsound };
    unsound.push(seed);
  }
  return undefined;
}

/** What the checks find in one run; undefined for nothing. Rejects with what is no finding. */
async function findingOf(seed: number, variant: Variant): Promise<string | undefined> {
  const { flaws = {}, spoil, requested } = variant;
  using stack = new DisposableStack();
  spoil?.(stack);
  try {
    await simulate(seed, { requested, flaws });
    return undefined;
  } catch (error) {
    const isFound = error instanceof SimulationFailure && error.cause instanceof Violation;
    if (!isFound) throw error;
    return error.message;
  }
}
