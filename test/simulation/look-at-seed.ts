import { parentPort } from 'node:worker_threads';
import { type Simulated, SimulationFailure, simulate } from '#test/simulation/simulate';

/* Worker thread: runs each received seed and returns the result. */

/** Result of a seed: figures of its history, or failure lines. */
export type Looked = {
  readonly seed: number;
  readonly result?: Simulated;
  readonly failure?: { readonly trace: readonly string[]; readonly lines: readonly string[] };
};

/** Runs the history of a seed; `hear` receives the trace lines. */
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
