import {
  DECIDER_TITLES,
  DECIDERS,
  type DeciderLabel,
  type DecisionResult,
  type DecisionRow,
  type LimiterFindings,
} from '#bench/limiter/findings';
import { numberText, spreadOf, spreadText } from '#bench/measures/statistics';
import { cpuOf, type TargetRow, tableOf } from '#bench/report-table';

/** Minimum decisions per second of one limiter process. Source: the project's targets. */
const DECISIONS_PER_S_MIN = 50_000;

/** Minimum throughput relative to Redis. Source: the project's targets. */
const RATIO_MIN = 1.5;

/** Maximum 99th percentile of the open model, in ms. Source: the project's targets. */
const P99_MS_MAX = 5;

const NOTE =
  'One limiter process serves all accounts, with Cassandra and NATS. Two caller processes request ' +
  'decisions for 1,000 accounts in turn. A decision is the answer to an `Admit` message: whether a ' +
  'call may start. Like edges, callers of (l) also send a `Settle` message after the call, and do ' +
  'not wait for its answer. All programs send the messages of one event-loop turn in one write. Redis ' +
  'syncs its append-only file every second. The limiter admits a call only if Cassandra already ' +
  'stores the allowance for the call. "64 in flight" means 64 decisions at the same time. In the ' +
  "open model, latency begins at the due time and includes the caller's timer (1 ms).";

/** Limiter targets and results; empty without findings. */
export function limiterTargets(findings: LimiterFindings | undefined): TargetRow[] {
  const rows = valid(findings?.rows ?? []);
  return loadsOf(rows).flatMap((load) => {
    const all = rows.filter((row) => titleOf(row) === load);
    return all[0]?.run.kind === 'open' ? openTargets(all, load) : closedTargets(all, load);
  });
}

/** Limiter section of the report; empty without findings. */
export function limiterReport(findings: LimiterFindings | undefined): string {
  if (findings === undefined) return '';
  const { rows, isCompared } = findings;
  const missing = 'Redis is not installed on this machine, so the report has no comparison.';
  const problems = rows.flatMap(({ label, round, run, result: { problem } }) =>
    problem === undefined
      ? []
      : [`- round ${round + 1}, (${label}) ${titleOf({ run })}: ${problem}`],
  );
  return [
    `## Limiter\n\n${NOTE}`,
    ...(isCompared ? [] : [missing]),
    ...loadsOf(rows).map((load) => loadTable(rows, load)),
    ...(problems.length === 0
      ? []
      : [`These rounds are void and do not count:\n\n${problems.join('\n')}`]),
  ].join('\n\n');
}

function loadTable(rows: readonly DecisionRow[], load: string): string {
  const head = ['', 'decisions/s', 'p50 ms', 'p99 ms', 'longest ms', 'CPU µs per decision'];
  const lines = DECIDERS.flatMap((label) => {
    const all = rows.filter((row) => row.label === label && titleOf(row) === load);
    if (all.length === 0) return [];
    const results = valid(all).map(({ result }) => result);
    const over = (read: (result: DecisionResult) => number, decimals: number) =>
      spreadText(spreadOf(results.map(read)), decimals);
    return [
      [
        `(${label}) ${DECIDER_TITLES[label]}`,
        over(({ decisionsPerS }) => decisionsPerS, 0),
        over(({ p50Ms }) => p50Ms, 2),
        over(({ p99Ms }) => p99Ms, 2),
        over(({ longestMs }) => longestMs, 1),
        cpuOf(results),
        `${results.length}/${all.length}`,
      ],
    ];
  });
  return `### ${load}\n\n${tableOf([...head, 'valid rounds'], lines)}`;
}

function closedTargets(rows: readonly DecisionRow[], load: string): TargetRow[] {
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

function openTargets(rows: readonly DecisionRow[], load: string): TargetRow[] {
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

function atLeast(
  what: string,
  least: number,
  values: readonly number[],
  decimals: number,
): TargetRow {
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
