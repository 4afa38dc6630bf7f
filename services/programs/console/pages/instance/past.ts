import type { PastStates } from '#clients/typescript/src/models';
import { instanceApi } from '#pages/instance/api';
import { Refused } from '#pages/shell/api';

/** Maximum number of exact cycles in a request. */
const EXACT_MAX = 10;

/** Cycles up to which exact states are requested: fewer than `EXACT_MAX` states are stored. */
const YOUNG_CYCLES = 2_304;

/**
 * Past states of the present generation in even steps, with one request: at most `pointsMax` stored
 * states, or exact states of a young instance, of which few states are stored. Throws `Refused`.
 */
export async function pastOf(
  { id, cycle_count: last }: { readonly id: string; readonly cycle_count: number },
  pointsMax: number,
): Promise<PastStates> {
  if (last === 0 || last > YOUNG_CYCLES) return await instanceApi.points(id, pointsMax);
  const steps = Math.min(last, EXACT_MAX - 1);
  const cycles = Array.from({ length: steps + 1 }, (_, step) => Math.round((step * last) / steps));
  try {
    return await instanceApi.statesAt(id, cycles);
  } catch (error) {
    // Old cycles may be deleted, a reset may have begun a new generation, or the instance is a fork.
    if (!(error instanceof Refused)) throw error;
    return await instanceApi.points(id, pointsMax);
  }
}
