import type { Round } from '#bench/load/closed-rounds';
import type { ClosedResult, CpuCost } from '#bench/load/wrk';
import {
  numberText,
  quartilesOf,
  quartilesText,
  type Spread,
  spreadOf,
  spreadText,
} from '#bench/measures/statistics';
import type { Column, Figure, Findings, Quantity, Table } from '#bench/page/part';
import { LABELS, type Label, TITLES } from '#bench/processes/servers';

/**
 * A comparison of throughput: server `ours` divided by server `theirs`, in the same round. `least`
 * is the target; a comparison without a target only informs.
 */
export type RatioTarget = {
  readonly ours: Label;
  readonly theirs: Label;
  readonly connections: number;
  readonly least?: number;
};

/** Maximum of a figure of one server. */
export type Limit = {
  readonly label: Label;
  readonly what: string;
  readonly connections: number;
  readonly most: number;
  readonly unit: string;
  readonly read: (result: ClosedResult) => number;
};

/** Targets of a comparison. */
export type Targets = {
  readonly ratios: readonly RatioTarget[];
  readonly limits?: readonly Limit[];
};

const COLUMNS: readonly Column[] = [
  { name: 'server' },
  { name: 'requests/s' },
  { name: 'p50 ms', decimals: 2 },
  { name: 'p99 ms', decimals: 2 },
  { name: 'CPU µs', decimals: 1 },
];

/** Results of servers that took turns: ratios, limits, and a table for each number of connections. */
export function comparedIn(
  rounds: readonly Round[],
  { ratios, limits = [] }: Targets,
): Required<Pick<Findings, 'figures' | 'tables' | 'problems'>> {
  const counts = [...new Set(rounds.map(({ connections }) => connections))];
  return {
    figures: [
      ...ratios.flatMap((target) => figuresOfRatio(rounds, target)),
      ...limits.flatMap((limit) => limitFigure(rounds, limit)),
    ],
    tables: counts.map((connections) => tableAt(rounds, connections)),
    problems: problemsOf(rounds),
  };
}

function figuresOfRatio(rounds: readonly Round[], target: RatioTarget): Figure[] {
  const { ours, theirs, connections, least } = target;
  const ratios = at(rounds, connections).flatMap(({ results }) => {
    const [own, other] = [results.get(ours), results.get(theirs)];
    if (own === undefined || other === undefined) return [];
    if (own.problem !== undefined || other.problem !== undefined) return [];
    return [own.requestsPerS / other.requestsPerS];
  });
  if (ratios.length === 0) return [];
  const spread = spreadOf(ratios);
  return [
    {
      what: `${ours} / ${theirs}, requests/s at ${connections} connections`,
      target: least === undefined ? '' : `≥ ${numberText(least, 2)}`,
      reached: spreadText(spread, 2),
      isMet: least === undefined || spread.median >= least,
    },
  ];
}

function limitFigure(rounds: readonly Round[], limit: Limit): Figure[] {
  const { label, what, connections, most, unit, read } = limit;
  const spread = spreadOf(validOf(rounds, label, connections).map(read));
  if (Number.isNaN(spread.median)) return [];
  return [
    {
      what: `${label}: ${what} at ${connections} connections`,
      target: `≤ ${most} ${unit}`,
      reached: spreadText(spread, 1),
      isMet: spread.median <= most,
    },
  ];
}

function tableAt(rounds: readonly Round[], connections: number): Table {
  const labels = LABELS.filter((label) =>
    at(rounds, connections).some(({ results }) => results.has(label)),
  );
  const rows = labels.map((label) => {
    const results = validOf(rounds, label, connections);
    const over = (read: (result: ClosedResult) => number) => rounded(spreadOf(results.map(read)));
    return {
      name: label,
      cells: [
        TITLES[label],
        over(({ requestsPerS }) => requestsPerS),
        over(({ p50Ms }) => p50Ms),
        over(({ p99Ms }) => p99Ms),
        cpuOf(results),
      ],
    };
  });
  return { name: `${connections} connections`, columns: COLUMNS, rows };
}

/** CPU time per request by process, over all results. */
export function cpuOf(
  results: readonly { readonly cpu: readonly CpuCost[] }[],
): Readonly<Record<string, Quantity>> {
  const names = results[0]?.cpu.map(({ process }) => process) ?? [];
  return Object.fromEntries(
    names.map((name, index) => {
      const micros = results.map(({ cpu }) => cpu[index]?.microsPerRequest ?? Number.NaN);
      return [name, rounded(spreadOf(micros))];
    }),
  );
}

/** CPU time per request of the processes with this name; NaN without such a process. */
export function microsOf({ cpu }: ClosedResult, isMeant: (process: string) => boolean): number {
  const meant = cpu.filter(({ process }) => isMeant(process));
  if (meant.length === 0) return Number.NaN;
  return meant.reduce((sum, { microsPerRequest }) => sum + microsPerRequest, 0);
}

/** A spread with three decimals, the most that a table shows. */
export function rounded({ median, min, max }: Spread): Quantity {
  const [middle, least, most] = [median, min, max].map((value) => Number(value.toFixed(3)));
  return least === most
    ? (middle ?? Number.NaN)
    : { median: middle ?? 0, min: least ?? 0, max: most ?? 0 };
}

function at(rounds: readonly Round[], connections: number): Round[] {
  return rounds.filter((round) => round.connections === connections);
}

function validOf(rounds: readonly Round[], label: Label, connections: number): ClosedResult[] {
  return at(rounds, connections)
    .flatMap(({ results }) => results.get(label) ?? [])
    .filter(({ problem }) => problem === undefined);
}

function problemsOf(rounds: readonly Round[]): string[] {
  return rounds.flatMap(({ connections, results }, index) =>
    [...results].flatMap(([label, { problem }]) =>
      problem === undefined
        ? []
        : [`round ${index + 1}, ${label} at ${connections} connections: ${problem.text}`],
    ),
  );
}

/** Quartiles of ratios of pairs. The target is for the median; without a target, the figure informs. */
export function ratioFigure(
  what: string,
  ratios: readonly number[],
  { least, most }: { readonly least?: number; readonly most?: number },
): Figure {
  const [, median] = quartilesOf(ratios);
  const target = least === undefined ? `≤ ${most}` : `≥ ${least}`;
  const isTargeted = least !== undefined || most !== undefined;
  return {
    what: `${what}, ${ratios.length} pairs`,
    target: isTargeted ? `median ${target}` : '',
    reached: quartilesText(ratios, 3),
    isMet: !isTargeted || (least === undefined ? median <= (most ?? 0) : median >= least),
  };
}
