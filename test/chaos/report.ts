import { cpus, loadavg, totalmem } from 'node:os';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { Call } from '#test/chaos/call-log';
import type { ChaosResult } from '#test/chaos/chaos-run';
import { percent } from '#test/chaos/check-quota';
import type { Fault } from '#test/chaos/fault';
import type { Findings } from '#test/chaos/findings';
import { chargeLines, limiterLines } from '#test/chaos/limiter-report';
import type { Phase } from '#test/chaos/phases';
import { storeOutageLines } from '#test/chaos/store-outage';
import {
  AFTERMATH_MS,
  type Disturbance,
  errorShareOf,
  failedAfterMs,
  isError,
  quantile,
  timeOf,
} from '#test/chaos/timeline';

/** Head of the report, in Markdown. Create before the report is written. */
export function headText(): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `# Chaos test

This page shows what callers meet while parts of a cluster fail under load. \`make chaos\` runs 2 edges, 2 limiters,
3 engines, NATS and Cassandra on one machine with the default \`SERVICE_NODE_DIRECT=true\`. After the load,
\`make chaos\` stops everything and checks the stores:

- Every acknowledged call is stored once, with the answered state.
- Every account is charged for its committed cycles; only crashes and expired reservations may add to them.
- Each fault keeps its limit of failed calls.

| | |
|---|---|
| Command | \`make chaos\` |
| Commit | ${checkoutCommit()} |
| Machine | ${machine} |

The tables count calls that were due from the start of a fault until ${AFTERMATH_MS / 1_000} s after its end. Latency runs from the due
time to the acknowledgement, with retries of the caller. "Errors after" is the time from the end of a fault until the
last failed call was due.
`;
}

/** Report of a phase in Markdown; `picture` is the file of its timeline. */
export function phaseText(
  result: ChaosResult,
  { title, about, faults }: Phase,
  picture: string,
): string {
  const { check, log, fromMs, toMs, unsent, disturbances } = result;
  const { findings, calls } = check;
  const seconds = Math.round((toMs - fromMs) / 1_000);
  const quietS = Math.round(((disturbances[0]?.fromMs ?? toMs) - fromMs) / 1_000);
  const rate = Math.round(log.calls.length / seconds);
  const load = loadavg()[1]?.toFixed(1);
  const lines = [
    `## ${title}`,
    '',
    about,
    '',
    ...resultLines(findings),
    '',
    `![Throughput, errors, latency and faults over time](${picture})`,
    '',
    `${rate} calls a second for ${seconds} s, the first ${quietS} s without faults; 5-minute load average ${load}. Of ${log.calls.length} calls,`,
    `${calls.acknowledged + calls.superseded} were acknowledged, ${calls.throttled} throttled, ${calls.refused} refused, ${calls.unknown} have an unknown outcome; ${unsent} due calls were`,
    'not sent.',
    ...chargeLines(result),
    ...answerLines(result),
    '',
    ...faultTable(result, faults),
    '',
    ...storeOutageLines(log.calls, result.storeOutages),
    ...limiterLines(result),
    ...(disturbances.length === 0 ? ['No fault was requested.'] : []),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** Findings of a check, one line each. */
export function resultLines({ count, lines }: Findings): string[] {
  if (count === 0) return ['**No findings.**'];
  return [
    `**Findings: ${count}.** Checks that are not listed passed.`,
    '',
    ...lines.map((line) => `- ${line}`),
  ];
}

function faultTable({ log, disturbances }: ChaosResult, faults: readonly Fault[]): string[] {
  const rows = faults.flatMap(({ name, title }) => {
    const time = timeOf(name, disturbances, log.calls);
    if (time === undefined) return [];
    const { overMs, calls } = time;
    const latencies = calls
      .filter(({ outcome }) => outcome.kind === 'acknowledged')
      .map(({ dueMs, endMs }) => endMs - dueMs);
    const failedMs = failedAfterMs(log.calls, overMs, overMs + AFTERMATH_MS);
    const p99 = milliseconds(quantile(latencies, 0.99));
    return `| ${title} | ${failedText(calls)} | ${p99} | ${milliseconds(failedMs)} |`;
  });
  return [
    '| Fault | Failed calls | p99 | Errors after |',
    '|---|---:|---:|---:|',
    ...rows,
    ...servedLines(disturbances, faults),
  ];
}

function failedText(calls: readonly Call[]): string {
  const failed = calls.filter(isError).length;
  return failed === 0 ? '0' : `${failed} (${percent(errorShareOf(calls))})`;
}

/** Times until every shard was served after faults that moved shards. */
function servedLines(disturbances: readonly Disturbance[], faults: readonly Fault[]): string[] {
  const times = faults.flatMap(({ name, title }) => {
    const own = disturbances.filter(({ fault }) => fault === name);
    const served = own.flatMap(({ servedAfterMs }) => servedAfterMs ?? []);
    return served.length === 0 ? [] : [`- ${milliseconds(Math.max(...served))} after ${title}`];
  });
  return times.length === 0 ? [] : ['', 'Every shard was served again:', '', ...times];
}

/** Number of failed calls per answer. */
function answerLines({ log }: ChaosResult): string[] {
  const errors = Map.groupBy(log.calls.filter(isError), ({ outcome }) =>
    outcome.kind === 'unknown'
      ? `unknown: ${outcome.why}`
      : outcome.kind === 'refused'
        ? `refused: ${outcome.status} ${outcome.reason}`
        : outcome.kind,
  );
  if (errors.size === 0) return [];
  const rows = [...errors].map(([what, calls]) => `- ${what}: ${calls.length}`);
  return ['', 'Failed calls by answer:', '', ...rows];
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
