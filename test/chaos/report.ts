import { loadavg } from 'node:os';
import { wrapped } from '#deploy/documents/wrapped-text';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { ChaosResult } from '#test/chaos/chaos-run';
import type { Findings } from '#test/chaos/checks/findings';
import { countText, percent } from '#test/chaos/checks/quota';
import type { Fault } from '#test/chaos/faults/fault';
import { storeOutageLines } from '#test/chaos/faults/store-outage';
import { ONE_AWAY_SHARE_MAX } from '#test/chaos/faults/three-node-faults';
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
import { machineText } from '#test/support/machine-text';

/** A section of the report, with its figures for the summary. */
export type ReportPart = {
  /** Name in the summary table and in the list of findings. */
  readonly name: string;
  /** Cells for `RUN_ROWS`; undefined if the summary table has no column for the section. */
  readonly cells?: readonly string[];
  readonly findings: Findings;
  /** The section in Markdown. */
  readonly text: string;
};

/** Row labels of the summary table. */
const RUN_ROWS = [
  ...['Duration, s', 'Calls sent (not sent)', 'Acknowledged', 'Throttled', 'Refused'],
  'Unknown outcome',
  ...[
    'Cycles stored',
    'Cycles charged',
    'Cycles lost in crashes (upper bound)',
    'Cycles in expired reservations (upper bound)',
  ],
  'Load average (5 min)',
] as const;

/** Reading aid above the summary table. */
const RUN_NOTE =
  'Each column is one cluster. Throttled and refused calls changed nothing. A call with an unknown outcome may be stored ' +
  'once. The two upper bounds count charged cycles that no call used.';

/** Load parameters in the head of the report. */
type Load = { readonly callsPerSecond: number; readonly warmS: number };

/**
 * Head of the report, with the commit. Must be called before the report is written: the written
 * report changes the checkout, and a changed checkout has no commit.
 */
export function headText({ callsPerSecond, warmS }: Load): string {
  return `# Chaos test

This page shows how many calls fail, and for how long, when parts of a cluster fail under load. \`make chaos\` repeats the
test. Two edges, two limiters, three engines, two couriers, NATS and Cassandra run on one machine. The
[glossary](glossary.md) defines cycle, reservation and shard.

A call fails if the caller gets a 5xx or no answer. After the load, the test checks the stores and the calls:

- The stores contain every acknowledged call once, with the state in its answer.
- Every account is charged for its stored cycles. An account may be charged for more cycles only after a limiter crash or
  an expired reservation.
- Webhook endpoints receive every change in the log of their account, the changes of an instance in order, and repetitions
  with the same event id and content.
- In the rolling restart with the delays of the Kubernetes manifests, no call may fail. If one of three Cassandra nodes is
  down, at most ${100 * ONE_AWAY_SHARE_MAX} % of the calls may fail. Other faults have no limit.

| | |
|---|---|
| Command | \`make chaos\` |
| Commit | ${checkoutCommit()} |
| Machine | ${machineText()} |
| Load | ${callsPerSecond} calls per second; no faults in the first ${warmS} s |
`;
}

/** Report with all sections so far, in Markdown. */
export function reportText(head: string, parts: readonly ReportPart[]): string {
  const blocks = [
    head,
    ...runTable(parts),
    findingLines(parts),
    'The load starts each call at a planned time, the due time. A fault table counts the calls that are due from the start ' +
      `of a fault until ${AFTERMATH_MS / 1_000} s after its end. The p99 covers acknowledged calls, from due time to answer, ` +
      'with all retries.',
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
  return [RUN_NOTE, [head, `|---|${'---:|'.repeat(runs.length)}`, ...rows].join('\n')];
}

function findingLines(parts: readonly ReportPart[]): string {
  const count = parts.reduce((sum, { findings }) => sum + findings.count, 0);
  if (count === 0) return '**No findings.**';
  const lines = parts.flatMap(({ name, findings }) =>
    findings.lines.map((line) => `- ${name}: ${line}`),
  );
  return [`**Findings: ${count}.** All other checks passed.`, '', ...lines].join('\n');
}

/** Report section of a phase. `picture` is the file name of its timeline. */
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
    deliveryText(result),
    ...storeOutageLines(log.calls, storeOutages),
    ...limiterLines(result),
  ];
  const text = `${blocks.join('\n\n')}\n`;
  return { name: run, cells: runCells(result), findings: check.findings, text };
}

/** Time until webhooks delivered the changes, over the whole run. */
function deliveryText({ deliveries: { lagsMs, repeated } }: ChaosResult): string {
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => milliseconds(quantile(lagsMs, share)));
  return (
    `Webhooks delivered ${countText(lagsMs.length)} changes, and ${countText(repeated)} of them again. ` +
    `A change arrived after ${p50} (p50), ${p99} (p99), and at most ${longest}, faults included.`
  );
}

/** Cells in the order of `RUN_ROWS`. */
function runCells(result: ChaosResult): string[] {
  const { check, log, fromMs, toMs, unsent } = result;
  const { acknowledged, superseded, throttled, refused, unknown } = check.calls;
  const { committed, charged, lost, expired } = chargesOf(result);
  return [
    `${Math.round((toMs - fromMs) / 1_000)}`,
    `${countText(log.calls.length)} (${countText(unsent)})`,
    countText(acknowledged + superseded),
    ...[throttled, refused, unknown, committed, charged, lost, expired].map(countText),
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
  return ['| Fault | Failed calls | Latency p99, s |', '|---|---:|---:|', ...rows].join('\n');
}

function failedShare(calls: readonly Call[]): string {
  const failed = calls.filter(isError).length;
  return failed === 0 ? '0' : `${countText(failed)} (${percent(errorShareOf(calls))})`;
}

/** Answers to failed calls, time of the last failure, and time until all shards were served. */
function failedText(result: ChaosResult, faults: readonly Fault[]): string {
  const { log, disturbances } = result;
  const answers = answersOf(log.calls);
  const lateMs = faults.map(({ name }) => {
    const overMs = timeOf(name, disturbances, log.calls)?.overMs;
    return overMs === undefined ? 0 : failedAfterMs(log.calls, overMs, overMs + AFTERMATH_MS);
  });
  const served = servedTimes(disturbances, faults);
  const sentences = [
    ...(answers.length === 0 ? [] : [`Failed calls received ${answers.join(', ')}.`]),
    `The last failed call was due ${milliseconds(Math.max(...lateMs))} after the end of its fault.`,
    ...(served.length === 0 ? [] : [`All shards were served again after ${served.join(', ')}.`]),
  ];
  return sentences.join(' ');
}

/** Time until all shards were served again, for each fault that moved shards. */
function servedTimes(disturbances: readonly Disturbance[], faults: readonly Fault[]): string[] {
  return faults.flatMap(({ name, title }) => {
    const own = disturbances.filter(({ fault }) => fault === name);
    const served = own.flatMap(({ servedAfterMs }) => servedAfterMs ?? []);
    return served.length === 0 ? [] : [`${milliseconds(Math.max(...served))} (${title})`];
  });
}

/** Answers to failed calls with their counts, the most frequent answer first. */
export function answersOf(calls: readonly Call[]): string[] {
  const errors = Map.groupBy(calls.filter(isError), ({ outcome }) =>
    outcome.kind === 'unknown'
      ? outcome.why.replace(/^then /, 'no answer, then ')
      : outcome.kind === 'refused'
        ? `${outcome.status} ${outcome.reason}`
        : outcome.kind,
  );
  return [...errors]
    .toSorted(([, left], [, right]) => right.length - left.length)
    .map(([answer, { length }]) => `${countText(length)} × \`${answer}\``);
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
