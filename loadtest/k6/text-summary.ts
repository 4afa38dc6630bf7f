import type { Slope } from '../processes/slopes.ts';
import { PROFILES } from './profile.ts';
import { phaseText, processLatency, ROUTES, routeLatency, type SloScope } from './slo.ts';
import { type Balance, countOf, type Judgement, type Metrics, type Verdict } from './verdict.ts';

/*
 * Summary page of a run. Pure, because k6 prints the page and the driver writes the page to a file.
 */

/** Content of the summary. */
export type Summarized = {
  readonly scope: SloScope;
  readonly metrics: Metrics;
  readonly verdict: Verdict;
  /** Circumstances of the run: name and value pairs. */
  readonly circumstances?: readonly (readonly [string, string])[];
  /** Resource usage of the target's processes; empty for a remote target. */
  readonly usage?: readonly ProcessUsage[];
};

/** Resource usage of a process before and after the load. */
export type ProcessUsage = {
  readonly name: string;
  readonly memoryMib: readonly [number, number];
  readonly openFiles: readonly [number, number];
};

const HEADLINES = {
  kept: 'every objective is kept',
  broken: 'an objective is broken',
  void: 'VOID, the run proves nothing',
} as const satisfies Record<Verdict['outcome'], string>;

const WORDS = {
  kept: 'kept',
  broken: '**BROKEN**',
  unmeasured: '**NOT MEASURED**',
} as const satisfies Record<Judgement['outcome'], string>;

/** Renders the summary of a run in Markdown. */
export function textSummary({
  scope,
  metrics,
  verdict,
  circumstances = [],
  usage = [],
}: Summarized): string {
  const parts = [
    `# Load test \`${scope.name}\`: ${headlineOf(verdict)}`,
    sentence(scope.name),
    verdict.voidBecause.map((reason) => `**Void:** ${reason}.`).join('\n'),
    heldText(scope, verdict),
    circumstances.map(([name, value]) => `- ${name}: ${value}`).join('\n'),
    tableOf(['Objective', 'Target', 'Measured', 'Verdict'], verdict.judgements.map(judgementRow)),
    balanceTable(verdict.balances),
    slopeTable(verdict.slopes),
    phaseTable(scope, metrics),
    routeTable(metrics),
    countsText(metrics),
    usageTable(usage),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Headline of the page. In profile `breakpoint`, the highest rate that kept all objectives. */
function headlineOf({ outcome, held }: Verdict): string {
  const last = held?.at(-1);
  if (outcome !== 'kept' || last === undefined) return HEADLINES[outcome];
  return `${rateText(last.toPerS)} held`;
}

function sentence(name: SloScope['name']): string {
  const { title } = PROFILES[name];
  return `${title[0]?.toUpperCase()}${title.slice(1)}.`;
}

function heldText({ phases }: SloScope, { held }: Verdict): string {
  if (held === undefined) return '';
  const last = held.at(-1);
  const next = phases[held.length];
  const until = last === undefined ? 'No step' : `Every step up to **${rateText(last.toPerS)}**`;
  const end =
    next === undefined ? 'no step failed' : `the first failed step: ${rateText(next.toPerS)}`;
  return `${until} kept every objective; ${end}.`;
}

function rateText(perS: number): string {
  return `${Number(perS.toFixed(1))} requests/s`;
}

function judgementRow({ slo, outcome, seen }: Judgement): string[] {
  const { text, comparison, bound, unit } = slo;
  const shown = (value: number): string => {
    if (unit === '%') return `${percentOf(value)}`;
    return unit === 'ms' ? `${milliseconds(value)} ms` : `${value}`;
  };
  const wanted = `${comparison === '==' ? '' : `${comparison} `}${shown(bound)}`;
  const found = seen === undefined ? (outcome === 'kept' ? 'none' : '-') : shown(seen);
  return [text, wanted, found, WORDS[outcome]];
}

function balanceTable(balances: readonly Balance[]): string {
  if (balances.length === 0) return '';
  const rows = balances.map(({ text, wanted, seen, slack, outcome }) => {
    const least =
      slack === Number.POSITIVE_INFINITY ? `>= ${wanted}` : `${wanted} to ${wanted + slack}`;
    const bound = slack === 0 ? `${wanted}` : least;
    return [text, bound, `${seen ?? '-'}`, WORDS[outcome]];
  });
  return tableOf(['Count', 'Target', 'Measured', 'Verdict'], rows);
}

function slopeTable(slopes: readonly Slope[]): string {
  if (slopes.length === 0) return '';
  const rows = slopes.map(({ name, mean, perHour, perHourMax, outcome }) => {
    if (outcome === 'unmeasured') return [name, '-', '-', '-', WORDS[outcome]];
    const grown = `${perHour < 0 ? '' : '+'}${perHour.toFixed(1)}`;
    return [name, mean.toFixed(1), `<= +${perHourMax.toFixed(1)}`, grown, WORDS[outcome]];
  });
  return tableOf(['Growth of', 'Mean', 'Target per hour', 'Measured per hour', 'Verdict'], rows);
}

function phaseTable({ phases }: SloScope, metrics: Metrics): string {
  const head = ['Phase', 'Seconds', 'Requests', 'Dropped', 'Answered'];
  const rows = phases.flatMap((phase) => {
    const requests = countOf(metrics, `http_reqs{scenario:${phase.name}}`);
    if (requests === 0) return [];
    const dropped = countOf(metrics, `dropped_iterations{scenario:${phase.name}}`);
    const answered = metrics[`available{scenario:${phase.name}}`]?.values['rate'];
    const counts = [requests, dropped, answered === undefined ? '-' : percentOf(answered)];
    const own = [phaseText(phase), Number(phase.seconds.toFixed(1)), ...counts].map(String);
    return [[...own, ...latencies(metrics, processLatency(phase))]];
  });
  return tableOf([...head, ...LATENCIES.map((name) => `process ${name}`)], rows);
}

function routeTable(metrics: Metrics): string {
  const rows = ROUTES.flatMap((route) => {
    const metric = routeLatency(route);
    const requests = metrics[metric]?.values['count'] ?? 0;
    return requests === 0 ? [] : [[`\`${route}\``, `${requests}`, ...latencies(metrics, metric)]];
  });
  return rows.length < 2 ? '' : tableOf(['Call', 'Requests', ...LATENCIES], rows);
}

const LATENCIES = ['p50', 'p95', 'p99', 'max'] as const;
const STATISTICS = ['p(50)', 'p(95)', 'p(99)', 'max'] as const;

/** Table cells with latencies; `-` without samples, for which k6 reports 0. */
function latencies(metrics: Metrics, metric: string): string[] {
  const { values = {} } = metrics[metric] ?? {};
  if ((values['count'] ?? 0) === 0) return STATISTICS.map(() => '-');
  return STATISTICS.map((statistic) => `${milliseconds(values[statistic] ?? 0)} ms`);
}

function countsText(metrics: Metrics): string {
  const counts = [
    ['cycles', 'cycles'],
    ['cycles of calls with unknown outcome', 'cycles_unknown'],
    ['throttled', 'throttled'],
    ['503 limiter_unavailable', 'fail_closed'],
    ['wrong answers', 'wrong_answers'],
  ] as const;
  const texts = counts.map(([text, metric]) => `${text} ${countOf(metrics, metric)}`);
  return `Counted: ${texts.join(', ')}.`;
}

function usageTable(usage: readonly ProcessUsage[]): string {
  if (usage.length === 0) return '';
  const rows = usage.map(({ name, memoryMib, openFiles }) => {
    return [name, `${memoryMib[0]} → ${memoryMib[1]} MiB`, `${openFiles[0]} → ${openFiles[1]}`];
  });
  return tableOf(['Process', 'Memory', 'Open files'], rows);
}

/** Percentage with three decimals, so that 99.9 % and 99.99 % differ. */
function percentOf(rate: number): string {
  // Round down: an incomplete share must never show as 100 %.
  return `${Math.floor(rate * 100_000) / 1_000} %`;
}

function milliseconds(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
