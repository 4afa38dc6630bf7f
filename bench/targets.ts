import type { Round } from '#bench/load/closed-rounds';
import { type Spread, spreadOf } from '#bench/measures/statistics';
import type { Label } from '#bench/processes/servers';

/** Minimum throughput of a server, relative to reference (c). Source: the project's targets. */
type RatioTarget = { readonly label: Label; readonly connections: number; readonly least: number };

const RATIO_TARGETS: readonly RatioTarget[] = [
  { label: 's', connections: 64, least: 1.0 },
  { label: 'p', connections: 64, least: 0.55 },
  { label: 's', connections: 4, least: 0.9 },
  { label: 'p', connections: 4, least: 0.2 },
];

/** Maximum cold start to the first answer, in ms. Source: the project's targets. */
export const COLD_START_MS_MAX = 1_500;

/** Maximum time that unflushed records may add to a start, in ms. Source: the project's targets. */
export function takeOverMsMax(records: number): number {
  return Math.round(TAKE_OVER_MS + (records / TAKE_OVER_RECORDS_PER_S) * 1_000);
}

const TAKE_OVER_MS = 300;
const TAKE_OVER_RECORDS_PER_S = 200_000;

/** Maximum live bytes of an idle instance in memory. Source: the project's targets. */
export const INSTANCE_BYTES_MAX = 2 * 1_024;

/** A ratio target and the measured ratio. */
export type Ratio = RatioTarget & { readonly reached: Spread };

/**
 * Ratios from rounds that measured both servers. A ratio compares servers within a round, because
 * the machine's speed varies more between rounds than within a round.
 */
export function ratiosOf(rounds: readonly Round[]): Ratio[] {
  return RATIO_TARGETS.flatMap((target) => {
    const ratios = rounds
      .filter((round) => round.connections === target.connections)
      .flatMap((round) => ratioIn(round, target.label));
    return ratios.length === 0 ? [] : [{ ...target, reached: spreadOf(ratios) }];
  });
}

function ratioIn(round: Round, label: Label): number[] {
  const ours = round.results.get(label);
  const reference = round.results.get('c');
  if (ours === undefined || reference === undefined) return [];
  if (ours.problem !== undefined || reference.problem !== undefined) return [];
  return [ours.requestsPerS / reference.requestsPerS];
}
