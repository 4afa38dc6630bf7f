import { parentPort } from 'node:worker_threads';
import { type Simulated, SimulationFailure, simulate } from '#test/simulation/simulate';

/*
 * This file is separate, because it is also the program of a worker thread. The thread runs each
 * received seed and posts the result.
 */

/** Result of a seed: figures of the run, or the lines of a failure. */
export type SeedResult = {
  readonly seed: number;
  readonly result?: Simulated;
  readonly failure?: { readonly trace: readonly string[]; readonly lines: readonly string[] };
};

/** Runs a seed. Calls `hear` with each trace line. */
export async function runSeed(seed: number, hear?: (line: string) => void): Promise<SeedResult> {
  try {
    return { seed, result: await simulate(seed, hear === undefined ? {} : { hear }) };
  } catch (error) {
    if (!(error instanceof SimulationFailure)) throw error;
    const stack = error.cause instanceof Error ? [String(error.cause.stack)] : [];
    const lines = [error.message, ...stack, `To repeat: make simulate SEED=${seed}`];
    return { seed, failure: { trace: error.lastLines, lines } };
  }
}

parentPort?.on('message', async (seed: number) => parentPort?.postMessage(await runSeed(seed)));
