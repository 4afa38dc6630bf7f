import {
  DECIDER_TITLES,
  DECIDERS,
  type DeciderLabel,
  type DecisionResult,
  type DecisionRow,
  type LimiterFindings,
} from '#bench/limiter/findings';
import { type LimiterSizes, measureLimiter } from '#bench/limiter/measure-limiter';
import { numberText, spreadOf, spreadText } from '#bench/measures/statistics';
import { cpuOf, rounded } from '#bench/page/comparison';
import type { Figure, Findings, Part, Table } from '#bench/page/part';

/** Minimum decisions per second of one limiter process. Source: the project's targets. */
const DECISIONS_PER_S_MIN = 50_000;

/** Minimum throughput relative to Redis. Source: the project's targets. */
const RATIO_MIN = 1.5;

/** Maximum 99th percentile of the open model, in ms. Source: the project's targets. */
const P99_MS_MAX = 5;

const FULL: LimiterSizes = {
  rounds: 5,
  secondsPerRun: 4,
  openSeconds: 5,
  warmUpS: 3,
  compileS: 90,
};
const QUICK: LimiterSizes = {
  rounds: 1,
  secondsPerRun: 1,
  openSeconds: 2,
  warmUpS: 1,
  compileS: 1,
};

/** Decisions of one durable limiter, beside a script in Redis. */
export const limiter: Part = {
  name: 'limiter',
  group: 'limiter',
  title: 'Decisions of one limiter',
  about:
    'One limiter process serves all accounts, with Cassandra and NATS. Two caller processes request ' +
    'decisions for 1,000 accounts in turn. A decision is the answer to an `Admit` message: whether a ' +
    'call may start. Like edges, callers of (l) also send a `Settle` message after the call, and do ' +
    'not wait for its answer. All programs send the messages of one event-loop turn in one write. ' +
    'Redis syncs its append-only file every second. The limiter admits a call only if Cassandra ' +
    'already stores the allowance for the call. "64 in flight" means 64 decisions at the same time. ' +
    "In the open model, latency begins at the due time and includes the caller's timer (1 ms).",
  missed:
    'The limiter stores each grant durably. Redis syncs to disk once a second. All processes share ' +
    'two cores.',
  needs: ['cassandra', 'redis'],
  measure: async ({ isQuick, print }) =>
    limiterFindings(await measureLimiter(isQuick ? QUICK : FULL, print)),
};

/** Targets, a table for each load, and void rounds. */
function limiterFindings({ rows, isCompared }: LimiterFindings): Findings {
  const correct = valid(rows);
  return {
    figures: loadsOf(correct).flatMap((load) => {
      const all = correct.filter((row) => titleOf(row) === load);
      return all[0]?.run.kind === 'open' ? openTargets(all, load) : closedTargets(all, load);
    }),
    tables: loadsOf(rows).map((load) => loadTable(correct, load)),
    notes: isCompared ? [] : ['Redis is not installed on this machine, so there is no comparison.'],
    problems: rows.flatMap(({ label, round, run, result: { problem } }) =>
      problem === undefined
        ? []
        : [`round ${round + 1}, ${label}, ${titleOf({ run })}: ${problem}`],
    ),
  };
}

const COLUMNS = [
  { name: 'decider' },
  { name: 'decisions/s' },
  { name: 'p50 ms', decimals: 2 },
  { name: 'p99 ms', decimals: 2 },
  { name: 'longest ms', decimals: 1 },
  { name: 'CPU µs', decimals: 1 },
];

function loadTable(rows: readonly DecisionRow[], load: string): Table {
  const ofLoad = rows.filter((row) => titleOf(row) === load);
  const labels = DECIDERS.filter((label) => ofLoad.some((row) => row.label === label));
  return {
    name: load,
    columns: COLUMNS,
    rows: labels.map((label) => {
      const results = rowsOf(ofLoad, label).map(({ result }) => result);
      const over = (read: (result: DecisionResult) => number) =>
        rounded(spreadOf(results.map(read)));
      return {
        name: label,
        cells: [
          DECIDER_TITLES[label],
          over(({ decisionsPerS }) => decisionsPerS),
          over(({ p50Ms }) => p50Ms),
          over(({ p99Ms }) => p99Ms),
          over(({ longestMs }) => longestMs),
          cpuOf(results),
        ],
      };
    }),
  };
}

function closedTargets(rows: readonly DecisionRow[], load: string): Figure[] {
  return (['l', 'r'] as const).flatMap((label) => {
    const rates = rowsOf(rows, label).map(({ result }) => result.decisionsPerS);
    const ratios = rowsOf(rows, label).flatMap((ours) =>
      rowsOf(rows, 'redis')
        .filter(({ round }) => round === ours.round)
        .map(({ result }) => ours.result.decisionsPerS / result.decisionsPerS),
    );
    // Throughput of a limiter that has a core for itself, without callers and stores.
    const perCore = rowsOf(rows, label).map(({ result }) => 1e6 / limiterMicros(result));
    const perCoreTitle = `${label}: decisions per CPU second of the limiter, ${load}`;
    return [
      atLeast(`${label}: decisions/s, ${load}`, DECISIONS_PER_S_MIN, rates, 0),
      atLeast(perCoreTitle, DECISIONS_PER_S_MIN, perCore, 0),
      atLeast(`${label} / redis, ${load}`, RATIO_MIN, ratios, 2),
    ].filter(({ reached }) => reached !== 'none');
  });
}

function openTargets(rows: readonly DecisionRow[], load: string): Figure[] {
  return (['l', 'r'] as const).flatMap((label) => {
    const spread = spreadOf(rowsOf(rows, label).map(({ result }) => result.p99Ms));
    if (Number.isNaN(spread.median)) return [];
    const target = `≤ ${P99_MS_MAX} ms`;
    const reached = `${spreadText(spread, 2)} ms`;
    return [
      { what: `${label}: p99, ${load}`, target, reached, isMet: spread.median <= P99_MS_MAX },
    ];
  });
}

function atLeast(what: string, least: number, values: readonly number[], decimals: number): Figure {
  const spread = spreadOf(values);
  const target = `≥ ${numberText(least, decimals)}`;
  return { what, target, reached: spreadText(spread, decimals), isMet: spread.median >= least };
}

function limiterMicros({ cpu }: DecisionResult): number {
  return cpu.find(({ process }) => process === 'limiter')?.microsPerRequest ?? Number.NaN;
}

function rowsOf(rows: readonly DecisionRow[], label: DeciderLabel): DecisionRow[] {
  return rows.filter((row) => row.label === label);
}

function valid(rows: readonly DecisionRow[]): DecisionRow[] {
  return rows.filter(({ result }) => result.problem === undefined);
}

function loadsOf(rows: readonly DecisionRow[]): string[] {
  return [...new Set(rows.map(titleOf))];
}

function titleOf({ run }: Pick<DecisionRow, 'run'>): string {
  if (run.kind === 'closed') return `${run.callers} in flight`;
  return `open model, ${numberText(run.perSecond, 0)} a second`;
}
