import { cpus, loadavg, totalmem } from 'node:os';
import { wrapped } from '#deploy/documents/wrapped-text';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { ChaosResult } from '#test/chaos/chaos-run';
import type { Findings } from '#test/chaos/checks/findings';
import { percent } from '#test/chaos/checks/quota';
import type { Fault } from '#test/chaos/faults/fault';
import { storeOutageLines } from '#test/chaos/faults/store-outage';
import { chargesOf, limiterLines } from '#test/chaos/limiter-report';
import type { Call } from '#test/chaos/load/call-log';
import type { Phase } from '#test/chaos/phases';
import {
  AFTERMATH_MS,
  type Disturbance,
  errorShareOf,
  failedAfterMs,
  isError,
  quantile,
  timeOf,
} from '#test/chaos/timeline';

/** A section of the report, and its share of the summary above all sections. */
export type ReportPart = {
  /** Name in the table of runs and in the list of findings. */
  readonly name: string;
  /** A cell for each of `RUN_ROWS`; none if the part is in no table. */
  readonly cells?: readonly string[];
  readonly findings: Findings;
  /** The section in Markdown. */
  readonly text: string;
};

/** Rows of the table of runs. */
const RUN_ROWS = [
  ...['Seconds', 'Calls (unsent)', 'Acknowledged', 'Throttled', 'Refused', 'Unknown outcome'],
  ...[
    'Cycles committed',
    'Cycles charged',
    'Cycles lost in crashes, at most',
    'Cycles expired, at most',
  ],
  'Load average',
] as const;

/** Facts of the head that the load decides. */
type Load = { readonly callsPerSecond: number; readonly warmS: number };

/** The head of the report. Call this before the report is written, which changes the checkout. */
export function headText({ callsPerSecond, warmS }: Load): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `# Chaos test

See what callers meet while parts of a cluster fail under load. \`make chaos\` runs 2 edges, 2 limiters, 3 engines, NATS
and Cassandra on one machine with the default \`SERVICE_NODE_DIRECT=true\`, then checks the stores:

- Every acknowledged call is stored once, with the answered state.
- Every account is charged for its committed cycles; only crashes and expired reservations may add to them.
- No fault causes more failed calls than its limit.

| | |
|---|---|
| Command | \`make chaos\` |
| Commit | ${checkoutCommit()} |
| Machine | ${machine} |
| Load | ${callsPerSecond} calls a second, the first ${warmS} s without faults |
`;
}

/** The whole report so far, in Markdown. */
export function reportText(head: string, parts: readonly ReportPart[]): string {
  const blocks = [
    head,
    ...runTable(parts),
    findingLines(parts),
    `The tables count calls due from a fault's start until ${AFTERMATH_MS / 1_000} s after its end. Latency (p99) includes retries.`,
    ...parts.map(({ text }) => text),
  ];
  return `${blocks.map((block) => wrapped(block.trim())).join('\n\n')}\n`;
}

function runTable(parts: readonly ReportPart[]): string[] {
  const runs = parts.filter(({ cells }) => cells !== undefined);
  if (runs.length === 0) return [];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rows = RUN_ROWS.map((row, index) =>
    line([row, ...runs.map(({ cells }) => cells?.[index] ?? '')]),
  );
  const head = line(['Run', ...runs.map(({ name }) => name)]);
  return [[head, `|---|${'---:|'.repeat(runs.length)}`, ...rows].join('\n')];
}

function findingLines(parts: readonly ReportPart[]): string {
  const count = parts.reduce((sum, { findings }) => sum + findings.count, 0);
  if (count === 0) return '**No findings.**';
  const lines = parts.flatMap(({ name, findings }) =>
    findings.lines.map((line) => `- ${name}: ${line}`),
  );
  return [`**Findings: ${count}.** All other checks passed.`, '', ...lines].join('\n');
}

/** Result of a phase; `picture` is the file name of its timeline. */
export function phasePart(
  result: ChaosResult,
  { run, title, about, faults }: Phase,
  picture: string,
): ReportPart {
  const { check, log, disturbances, storeOutages } = result;
  const blocks = [
    `## ${title}`,
    about,
    `![Throughput, errors, latency and faults over time](${picture})`,
    ...(disturbances.length === 0
      ? ['No fault was requested.']
      : [faultTable(result, faults), failedText(result, faults)]),
    ...storeOutageLines(log.calls, storeOutages),
    ...limiterLines(result),
  ];
  const text = `${blocks.join('\n\n')}\n`;
  return { name: run, cells: runCells(result), findings: check.findings, text };
}

/** In the order of `RUN_ROWS`. */
function runCells(result: ChaosResult): string[] {
  const { check, log, fromMs, toMs, unsent } = result;
  const { acknowledged, superseded, throttled, refused, unknown } = check.calls;
  const { committed, charged, lost, expired } = chargesOf(result);
  return [
    `${Math.round((toMs - fromMs) / 1_000)}`,
    `${log.calls.length} (${unsent})`,
    `${acknowledged + superseded}`,
    ...[throttled, refused, unknown, committed, charged, lost, expired].map(String),
    `${loadavg()[1]?.toFixed(1)}`,
  ];
}

function faultTable({ log, disturbances }: ChaosResult, faults: readonly Fault[]): string {
  const rows = faults.flatMap(({ name, title }) => {
    const time = timeOf(name, disturbances, log.calls);
    if (time === undefined) return [];
    const latencies = time.calls
      .filter(({ outcome }) => outcome.kind === 'acknowledged')
      .map(({ dueMs, endMs }) => endMs - dueMs);
    const p99Ms = quantile(latencies, 0.99);
    const p99S = (p99Ms / 1_000).toFixed(p99Ms < 1_000 ? 3 : 1);
    return `| ${title} | ${failedShare(time.calls)} | ${p99S} |`;
  });
  return ['| Fault | Failed calls | p99, s |', '|---|---:|---:|', ...rows].join('\n');
}

function failedShare(calls: readonly Call[]): string {
  const failed = calls.filter(isError).length;
  return failed === 0 ? '0' : `${failed} (${percent(errorShareOf(calls))})`;
}

/** Answers of failed calls, how soon failures ended, and when shards were served again. */
function failedText(result: ChaosResult, faults: readonly Fault[]): string {
  const { log, disturbances } = result;
  const answers = answersOf(log.calls);
  const lateMs = faults.map(({ name }) => {
    const overMs = timeOf(name, disturbances, log.calls)?.overMs;
    return overMs === undefined ? 0 : failedAfterMs(log.calls, overMs, overMs + AFTERMATH_MS);
  });
  const served = servedTimes(disturbances, faults);
  const sentences = [
    ...(answers.length === 0 ? [] : [`Failed calls got ${answers.join(', ')}.`]),
    `Failures ended at most ${milliseconds(Math.max(...lateMs))} after a fault.`,
    ...(served.length === 0 ? [] : [`All shards were served again after ${served.join(', ')}.`]),
  ];
  return sentences.join(' ');
}

/** When every shard was served again after faults that moved shards. */
function servedTimes(disturbances: readonly Disturbance[], faults: readonly Fault[]): string[] {
  return faults.flatMap(({ name, title }) => {
    const own = disturbances.filter(({ fault }) => fault === name);
    const served = own.flatMap(({ servedAfterMs }) => servedAfterMs ?? []);
    return served.length === 0 ? [] : [`${milliseconds(Math.max(...served))} (${title})`];
  });
}

/** Answers of failed calls with their number, the most frequent first. */
function answersOf(calls: readonly Call[]): string[] {
  const errors = Map.groupBy(calls.filter(isError), ({ outcome }) =>
    outcome.kind === 'unknown'
      ? outcome.why.replace(/^then /, 'no answer, then ')
      : outcome.kind === 'refused'
        ? `${outcome.status} ${outcome.reason}`
        : outcome.kind,
  );
  return [...errors]
    .toSorted(([, left], [, right]) => right.length - left.length)
    .map(([answer, { length }]) => `\`${answer}\` (${length})`);
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
