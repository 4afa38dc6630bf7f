import { cpus, loadavg, totalmem } from 'node:os';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { ImagesResult } from '#test/power-loss/image-check';
import type { KillsResult } from '#test/power-loss/kill-run';

/** Read before writing the report, which changes the checkout. */
const COMMIT = checkoutCommit();

/** Result of a complete run. */
export type PowerLossResult = {
  readonly images: (ImagesResult & { readonly syncUs: number; readonly calls: number })[];
  readonly kills: KillsResult[];
};

/** Maximum findings in the report. */
const LISTED_MAX = 50;

/** All findings, one line each. */
export function findingsOf({ images, kills }: PowerLossResult): string[] {
  return [
    ...images.flatMap((run) => run.findings),
    ...kills.flatMap((file) => [...file.findings, ...file.last.findings.lines]),
  ];
}

/** Report of a run so far, in Markdown. */
export function reportText(result: PowerLossResult, seconds: number): string {
  const { images, kills } = result;
  const findings = findingsOf(result);
  const readyMs = kills.flatMap((file) => file.readyMs).toSorted((left, right) => left - right);
  const [cpu] = cpus();
  const lines = [
    '# Power-loss test of one file',
    '',
    'Check whether a service on an SQLite file (`SERVICE_STORAGE=sqlite`) loses data after `kill -9` or power loss.',
    '',
    '| | |',
    '|---|---|',
    '| Command | `make power-loss` |',
    `| Commit | ${COMMIT} |`,
    `| Machine | ${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB; load average ${loadavg()[1]?.toFixed(1)} over 5 min |`,
    `| Duration | ${Math.round(seconds / 60)} min |`,
    '',
    findings.length === 0
      ? '**No findings.** Every acknowledged call is stored once, with the answered state. Heads follow from their histories, and\nno account exceeds its plan.'
      : `**Findings: ${findings.length}**, listed below.`,
    '',
    '## Power loss',
    '',
    'Each image is a possible disk after a power loss: all synced writes, and any later writes.',
    '',
    '| Added time of a sync | Calls | Images | Observations in them | Heads recomputed | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...images.map(
      (run) =>
        `| ${run.syncUs / 1_000} ms | ${run.calls} | ${run.images} | ${run.observations} | ${run.verified} | ${run.findings.length} |`,
    ),
    '',
    '## kill -9',
    '',
    'The test checks a copy after each kill, and the file at the end. Calls stay unacknowledged while the process is down',
    'or starting, or without quota.',
    '',
    '| Kills (during a start) | Calls | Acknowledged | Observations at the end | Heads recomputed | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...kills.map((file) => {
      const { calls, observations, findings: last } = file.last;
      const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
      return `| ${file.kills} (${file.inStart}) | ${all} | ${calls.acknowledged} | ${observations} | ${file.verified} | ${file.findings.length + last.count} |`;
    }),
    '',
    `A start after a kill took ${Math.round(readyMs.at(readyMs.length >> 1) ?? 0)} ms (p50) and at most ${Math.round(readyMs.at(-1) ?? 0)} ms until the process served, beside load and check (${readyMs.length}`,
    'starts).',
    ...(findings.length === 0 ? [] : ['', '### Findings', '']),
    ...findings.slice(0, LISTED_MAX).map((line) => `- ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}
