import { simulate } from '#test/simulation/simulate';

/**
 * Duration of short and long runs, in virtual milliseconds. Only long runs have checkpoints by age.
 */
const SHORT_MS = 9_000;
const LONG_MS = 32_000;

/** Every sixth seed is a long run. */
const LONG_EVERY = 6;

/**
 * Simulates the cluster of a seed. Returns the number of acknowledged calls; throws for a
 * violation.
 */
export async function simulateSeed(seed: number): Promise<number> {
  const loadMs = seed % LONG_EVERY === 0 ? LONG_MS : SHORT_MS;
  const { acknowledged } = await simulate(seed, { requested: { loadMs } });
  return acknowledged;
}
