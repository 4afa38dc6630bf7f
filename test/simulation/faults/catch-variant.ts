import type { Variant } from '#test/simulation/faults/variant';
import { SimulationFailure, simulate } from '#test/simulation/simulate';
import { Violation } from '#test/simulation/stored/version-index';

/** Evidence against a variant, and the number of seeds needed. */
export type Catch = {
  readonly seeds: number;
  readonly found: string;
  /** Seeds that also fail without the variant, and therefore prove nothing. */
  readonly unsound: readonly number[];
};

/**
 * Runs a variant on seeds from 1 until one fails that passes without the variant; otherwise a bug
 * of the code itself would count as detection. Undefined if not detected.
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

/** Finding of one run; undefined if none. Rejects with other errors. */
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
