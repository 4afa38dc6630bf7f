import type { Round } from '#bench/load/closed-rounds';
import type { ClosedResult, CpuCost } from '#bench/load/wrk';
import { numberText, type Spread, spreadOf, spreadText } from '#bench/measures/statistics';
import type { Label } from '#bench/processes/servers';
import type { TargetRow } from '#bench/report-table';

/** A comparison: the throughput of server `ours` divided by the throughput of server `theirs`. */
type Compared = { readonly ours: Label; readonly theirs: Label; readonly connections: number };

/** Minimum ratios. Source: the project's targets. */
const RATIOS: readonly (Compared & { readonly least: number })[] = [
  { ours: 'd', theirs: 'pg', connections: 64, least: 2.7 },
  { ours: 'd', theirs: 'pg', connections: 256, least: 3.8 },
  { ours: 'd', theirs: 'cas', connections: 64, least: 1.4 },
  { ours: 'd', theirs: 'cas', connections: 256, least: 1.8 },
  { ours: 'd', theirs: 'c', connections: 256, least: 0.36 },
  { ours: 'e', theirs: 'c', connections: 64, least: 0.5 },
  { ours: 'e', theirs: 'c', connections: 256, least: 0.55 },
  { ours: 'e', theirs: 'pg', connections: 64, least: 3 },
  { ours: 'e', theirs: 'cas', connections: 64, least: 2 },
  { ours: 'd3', theirs: 'd', connections: 64, least: 0.6 },
  { ours: 'k', theirs: 'd', connections: 64, least: 0.75 },
  { ours: 'k', theirs: 'd', connections: 256, least: 0.75 },
  { ours: 'd50', theirs: 'pg50', connections: 64, least: 2.4 },
  { ours: 'd50', theirs: 'pg50', connections: 256, least: 4 },
  { ours: 'd50', theirs: 'cas50', connections: 64, least: 1.35 },
  { ours: 'd50', theirs: 'cas50', connections: 256, least: 1.9 },
  { ours: 'k50', theirs: 'd50', connections: 64, least: 0.75 },
  { ours: 'k50', theirs: 'd50', connections: 256, least: 0.75 },
];

/** Additional ratios without a target. */
const MORE_RATIOS: readonly Compared[] = [
  { ours: 'd', theirs: 'c', connections: 64 },
  { ours: 'd3', theirs: 'd', connections: 256 },
  { ours: 'e', theirs: 'pg', connections: 256 },
  { ours: 'e', theirs: 'cas', connections: 256 },
  { ours: 'ke', theirs: 'e', connections: 64 },
  { ours: 'ke', theirs: 'e', connections: 256 },
];

const LIMITERS_SHARE = "the limiter's share of the servers' CPU";

/** Maximum latencies and CPU costs of a service. Source: the project's targets. */
const LIMITS: readonly {
  label: Label;
  what: string;
  connections: number;
  most: number;
  unit: string;
  decimals: number;
  read: (result: ClosedResult) => number;
}[] = [
  limit('d', 'p50', 64, 15, 'ms', p50Of),
  limit('d', 'p99', 64, 60, 'ms', p99Of),
  limit('d', 'CPU of Cassandra per observation', 256, 60, 'µs', cassandraMicros),
  limit('d', LIMITERS_SHARE, 64, 10, '%', limiterPercent),
  limit('d', LIMITERS_SHARE, 256, 10, '%', limiterPercent),
  limit('e', 'p50', 64, 6, 'ms', p50Of),
  limit('e', 'p99', 64, 25, 'ms', p99Of),
];

/**
 * Targets beside the results of valid rounds. Each ratio compares two servers in the same round.
 */
export function durableTargets(rounds: readonly Round[]): TargetRow[] {
  const ratios = RATIOS.map((compared) => {
    const reached = ratioOf(rounds, compared);
    const target = `≥ ${numberText(compared.least, 2)}`;
    return ratioRow(compared, target, reached, reached.median >= compared.least);
  });
  const more = MORE_RATIOS.map((compared) =>
    ratioRow(compared, 'none', ratioOf(rounds, compared), true),
  );
  const limits = LIMITS.map(({ label, what, connections, most, unit, decimals, read }) => {
    const reached = spreadOf(valid(rounds, label, connections).map(read));
    const target = `≤ ${most} ${unit}`;
    return rowOf(
      `${label}: ${what}`,
      connections,
      target,
      reached,
      decimals,
      reached.median <= most,
    );
  });
  return [...ratios, ...more, ...limits].filter(({ reached }) => reached !== 'none');
}

function limit(
  label: Label,
  what: string,
  connections: number,
  most: number,
  unit: string,
  read: (result: ClosedResult) => number,
) {
  return { label, what, connections, most, unit, decimals: 1, read };
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

function ratioRow(
  { ours, theirs, connections }: Compared,
  target: string,
  reached: Spread,
  isMet: boolean,
): TargetRow {
  return rowOf(`${ours} / ${theirs}`, connections, target, reached, 2, isMet);
}

function ratioOf(rounds: readonly Round[], { ours, theirs, connections }: Compared): Spread {
  const ratios = rounds
    .filter((round) => round.connections === connections)
    .flatMap(({ results }) => {
      const [own, other] = [results.get(ours), results.get(theirs)];
      if (own === undefined || other === undefined) return [];
      if (own.problem !== undefined || other.problem !== undefined) return [];
      return [own.requestsPerS / other.requestsPerS];
    });
  return spreadOf(ratios);
}

function valid(rounds: readonly Round[], label: Label, connections: number): ClosedResult[] {
  return rounds
    .filter((round) => round.connections === connections)
    .flatMap(({ results }) => results.get(label) ?? [])
    .filter(({ problem }) => problem === undefined);
}

function p50Of({ p50Ms }: ClosedResult): number {
  return p50Ms;
}

function p99Of({ p99Ms }: ClosedResult): number {
  return p99Ms;
}

function cassandraMicros(result: ClosedResult): number {
  return microsOf(result, ({ process }) => process === 'cassandra');
}

function limiterPercent(result: ClosedResult): number {
  const limiter = microsOf(result, ({ process }) => process === 'limiter');
  return (100 * limiter) / microsOf(result, ({ process }) => process !== 'wrk');
}

/** CPU time of the selected processes per request; NaN if no process is selected. */
function microsOf({ cpu }: ClosedResult, isMeant: (cost: CpuCost) => boolean): number {
  const meant = cpu.filter(isMeant);
  if (meant.length === 0) return Number.NaN;
  return meant.reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
}
