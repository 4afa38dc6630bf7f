import type { Variant } from '#test/simulation/faults/variant';
import { SimulationFailure, simulate } from '#test/simulation/simulate';
import { Violation } from '#test/simulation/stored/version-index';

/** Proof that the checks detect a variant. */
export type Catch = {
  /** Number of seeds until the detection. */
  readonly seeds: number;
  /** Message of the violation that the checks reported. */
  readonly found: string;
  /** Seeds that also fail without the flaw, and therefore prove nothing. */
  readonly unsound: readonly number[];
};

/**
 * Runs a variant on seeds from 1 until a seed fails that passes without the flaw. The control run
 * excludes bugs of the code itself. Undefined if no seed fails.
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

/** Violation of one run; undefined if the run passes. Rejects with other errors. */
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
