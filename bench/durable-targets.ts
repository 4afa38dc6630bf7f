import type { Round } from '#bench/closed-rounds';
import type { Label } from '#bench/servers';
import { numberText, type Spread, spreadOf, spreadText } from '#bench/statistics';
import type { ClosedResult, CpuCost } from '#bench/wrk';

/** A row of the table of targets. */
export type TargetRow = {
  readonly what: string;
  readonly target: string;
  readonly reached: string;
  readonly isMet: boolean;
};

/** The least multiple of a reference's throughput. Source: the project's targets. */
const RATIOS: readonly { reference: Label; connections: number; least: number }[] = [
  { reference: 'pg', connections: 256, least: 3.0 },
  { reference: 'pg', connections: 64, least: 2.5 },
  { reference: 'c', connections: 256, least: 0.36 },
  { reference: 'cas', connections: 64, least: 1.7 },
];

/** Ratios that no target is set for, but that complete the picture. */
const MORE_RATIOS: readonly { reference: Label; connections: number }[] = [
  { reference: 'c', connections: 64 },
  { reference: 'cas', connections: 256 },
];

/** The most that (d) may take. Source: the project's targets. */
const LIMITS: readonly {
  what: string;
  connections: number;
  most: number;
  unit: string;
  decimals: number;
  read: (result: ClosedResult) => number;
}[] = [
  limit('p50', 64, 15, 'ms', (result) => result.p50Ms),
  limit('p99', 64, 60, 'ms', (result) => result.p99Ms),
  limit('CPU of Cassandra per observation', 256, 60, 'µs', cassandraMicros),
  limit("the limiter's share of all CPU but the load generator's", 64, 10, '%', limiterPercent),
  limit("the limiter's share of all CPU but the load generator's", 256, 10, '%', limiterPercent),
];

/** What the valid rounds of the durable comparison reached. Ratios are of the same round. */
export function durableTargets(rounds: readonly Round[]): TargetRow[] {
  const ratios = RATIOS.map(({ reference, connections, least }) => {
    const reached = ratioTo(rounds, reference, connections);
    const target = `≥ ${numberText(least, 2)}`;
    return rowOf(`d / ${reference}`, connections, target, reached, 2, reached.median >= least);
  });
  const more = MORE_RATIOS.map(({ reference, connections }) => {
    const reached = ratioTo(rounds, reference, connections);
    return rowOf(`d / ${reference}`, connections, 'none', reached, 2, true);
  });
  const limits = LIMITS.map(({ what, connections, most, unit, decimals, read }) => {
    const reached = spreadOf(valid(rounds, 'd', connections).map(read));
    const target = `≤ ${most} ${unit}`;
    return rowOf(`d: ${what}`, connections, target, reached, decimals, reached.median <= most);
  });
  return [...ratios, ...more, ...limits].filter(({ reached }) => reached !== 'none');
}

function limit(
  what: string,
  connections: number,
  most: number,
  unit: string,
  read: (result: ClosedResult) => number,
) {
  return { what, connections, most, unit, decimals: 1, read };
}

function rowOf(
  what: string,
  connections: number,
  target: string,
  spread: Spread,
  decimals: number,
  isMet: boolean,
): TargetRow {
  const reached = spreadText(spread, decimals);
  return { what: `${what} at ${connections} connections`, target, reached, isMet };
}

function ratioTo(rounds: readonly Round[], reference: Label, connections: number): Spread {
  const ratios = rounds
    .filter((round) => round.connections === connections)
    .flatMap(({ results }) => {
      const ours = results.get('d');
      const theirs = results.get(reference);
      if (ours === undefined || theirs === undefined) return [];
      if (ours.problem !== undefined || theirs.problem !== undefined) return [];
      return [ours.requestsPerS / theirs.requestsPerS];
    });
  return spreadOf(ratios);
}

function valid(rounds: readonly Round[], label: Label, connections: number): ClosedResult[] {
  return rounds
    .filter((round) => round.connections === connections)
    .flatMap(({ results }) => results.get(label) ?? [])
    .filter(({ problem }) => problem === undefined);
}

function cassandraMicros(result: ClosedResult): number {
  return microsOf(result, ({ process }) => process === 'cassandra');
}

function limiterPercent(result: ClosedResult): number {
  const limiter = microsOf(result, ({ process }) => process === 'limiter');
  return (100 * limiter) / microsOf(result, ({ process }) => process !== 'wrk');
}

/** CPU per request of the processes that are meant, together; NaN if there is none. */
function microsOf({ cpu }: ClosedResult, isMeant: (cost: CpuCost) => boolean): number {
  const meant = cpu.filter(isMeant);
  if (meant.length === 0) return Number.NaN;
  return meant.reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
}
