import { parentPort } from 'node:worker_threads';
import { type Simulated, SimulationFailure, simulate } from '#test/simulation/simulate';

/*
 * As a thread of its own: looks at every seed that it is sent and answers with what it found.
 */

/** What became of a seed: its history's figures, or lines that say what went wrong. */
export type Looked = {
  readonly seed: number;
  readonly result?: Simulated;
  readonly failure?: { readonly trace: readonly string[]; readonly lines: readonly string[] };
};

/** Runs the history that a seed names; each line of its trace goes to `hear`. */
export async function lookAtSeed(seed: number, hear?: (line: string) => void): Promise<Looked> {
  try {
    return { seed, result: await simulate(seed, hear === undefined ? {} : { hear }) };
  } catch (error) {
    if (!(error instanceof SimulationFailure)) throw error;
    const stack = error.cause instanceof Error ? [String(error.cause.stack)] : [];
    const lines = [error.message, ...stack, `again: make simulate SEED=${seed}`];
    return { seed, failure: { trace: error.lastLines, lines } };
  }
}

parentPort?.on('message', async (seed: number) => parentPort?.postMessage(await lookAtSeed(seed)));
