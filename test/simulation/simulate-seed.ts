import { type Simulated, simulate } from '#test/simulation/simulate';

/** Duration of the load in a short run, in simulated milliseconds. */
const SHORT_MS = 9_000;

/** Duration of the load in a long run, in simulated ms. Only long runs reach checkpoints by age. */
const LONG_MS = 32_000;

/** Every sixth seed is a long run. */
const LONG_EVERY = 6;

/** Simulates the cluster of a seed. Rejects with `SimulationFailure`. */
export async function simulateSeed(seed: number): Promise<Simulated> {
  const loadMs = seed % LONG_EVERY === 0 ? LONG_MS : SHORT_MS;
  return await simulate(seed, { requested: { loadMs } });
}
