import { cpus, loadavg, totalmem } from 'node:os';
import type { ChaosResult } from '#test/chaos/chaos-run';
import type { Fault } from '#test/chaos/fault';
import { limiterLines } from '#test/chaos/limiter-report';
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

/** The beginning of the report, in Markdown. */
export function headText(): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `# Chaos

Clusters of real processes on one machine (2 edges, 2 limiters, 3 engines, NATS, Cassandra), disturbed
under an open-model load. Made by \`make chaos\`; the checker reads the stores after everything has
been stopped.

Machine: ${machine}.
`;
}

/** What a phase came to, in Markdown; `picture` is the file name of its timeline. */
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
  const lines = [
    `## ${title}`,
    '',
    about,
    '',
    `${rate} calls a second for ${seconds} s, the first ${quietS} s without faults; load average ${loadavg()[1]?.toFixed(1)} over the`,
    'last 5 min.',
    '',
    findings.count === 0
      ? '**Nothing is wrong**: every acknowledged call is stored once, with the answered state,\nand every account was charged for what it got.'
      : `**${findings.count} things are wrong**, see below.`,
    '',
    `![Throughput, errors, latency and disturbances over time](${picture})`,
    '',
    '| Checked | |',
    '|---|---:|',
    `| calls | ${log.calls.length} |`,
    `| acknowledged | ${calls.acknowledged + calls.superseded} |`,
    `| throttled | ${calls.throttled} |`,
    `| definitely refused | ${calls.refused} |`,
    `| of unknown outcome | ${calls.unknown} |`,
    `| due and not sent by the load | ${unsent} |`,
    `| instances (deleted of these) | ${check.instances} (${check.deleted}) |`,
    `| observations in history | ${check.observations} |`,
    '',
    ...faultTable(result, faults),
    '',
    ...storeOutageLines(log.calls, result.storeOutages),
    ...limiterLines(result),
    ...errorTable(result),
    ...(findings.count === 0 ? [] : ['', '### Findings', '']),
    ...findings.lines.map((line) => `- ${line}`),
    ...(disturbances.length === 0 ? ['No fault was asked for.'] : []),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function faultTable({ log, disturbances }: ChaosResult, faults: readonly Fault[]): string[] {
  const rows = faults.flatMap(({ name, title }) => {
    const time = timeOf(name, disturbances, log.calls);
    if (time === undefined) return [];
    const { disturbances: own, overMs, calls } = time;
    const errors = calls.filter(isError).length;
    const latencies = calls
      .filter(({ outcome }) => outcome.kind === 'acknowledged')
      .map(({ dueMs, endMs }) => endMs - dueMs);
    const failedMs = failedAfterMs(log.calls, overMs, overMs + AFTERMATH_MS);
    const share = 100 * errorShareOf(calls);
    const times = [0.5, 0.99, 1].map((at) => milliseconds(quantile(latencies, at)));
    return `| ${title} | ${servedText(own)} | ${milliseconds(failedMs)} | ${calls.length} | ${errors} (${share.toFixed(2)} %) | ${times.join(' | ')} |`;
  });
  return [
    'Calls that were due from the beginning of a fault until 5 s after its end. Latency counts from',
    'when a call was due to its acknowledgement, retries of the caller included.',
    '',
    '| Fault | Every shard served again after | Errors until so long after its end | Calls | Errors | p50 | p99 | longest |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

function servedText(disturbances: readonly Disturbance[]): string {
  const times = disturbances.flatMap(({ servedAfterMs }) => servedAfterMs ?? []);
  return times.length === 0 ? '-' : milliseconds(Math.max(...times));
}

function errorTable({ log }: ChaosResult): string[] {
  const errors = Map.groupBy(log.calls.filter(isError), ({ outcome }) =>
    outcome.kind === 'unknown'
      ? `unknown: ${outcome.why}`
      : outcome.kind === 'refused'
        ? `refused: ${outcome.status} ${outcome.reason}`
        : outcome.kind,
  );
  if (errors.size === 0) return [];
  const rows = [...errors].map(([what, calls]) => `| ${what} | ${calls.length} |`);
  return ['| What callers met | Calls |', '|---|---:|', ...rows];
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
