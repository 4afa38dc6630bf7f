import { cpus, loadavg, totalmem } from 'node:os';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { ImagesResult } from '#test/power-loss/image-check';
import type { KillsResult } from '#test/power-loss/kill-run';

/** Commit of the checkout, read before the report is written, because a change hides the commit. */
const COMMIT = checkoutCommit();

/** Results of a power-loss test. */
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

/** Report in Markdown with all results so far. */
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
      ? '**No findings.** Every acknowledged call is stored once, with the answered state. Replaying each history gives the\nstored head, and no account exceeds its plan.'
      : `**Findings: ${findings.length}**, listed below.`,
    '',
    '## Power loss',
    '',
    'The test records the disk writes of a service under load. Each image is a possible disk content after a power loss:',
    'all synced writes, and a random part of the later writes.',
    '',
    '| Added sync delay | Calls | Images | Observations in all images | Heads recomputed from history | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...images.map(
      (run) =>
        `| ${run.syncUs / 1_000} ms | ${run.calls} | ${run.images} | ${run.observations} | ${run.verified} | ${run.findings.length} |`,
    ),
    '',
    '## kill -9',
    '',
    'The test checks a copy of the file after each kill, and the file at the end. Calls are not acknowledged while the',
    'process is down or starting, or when the quota of the account is used up.',
    '',
    '| Kills (during a start) | Calls | Acknowledged calls | Observations at the end | Heads recomputed from history | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...kills.map((file) => {
      const { calls, observations, findings: last } = file.last;
      const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
      return `| ${file.kills} (${file.inStart}) | ${all} | ${calls.acknowledged} | ${observations} | ${file.verified} | ${file.findings.length + last.count} |`;
    }),
    '',
    `The service was ready ${Math.round(readyMs.at(readyMs.length >> 1) ?? 0)} ms (p50) after a restart, at most ${Math.round(readyMs.at(-1) ?? 0)} ms, while load and checks used the same machine`,
    `(${readyMs.length} starts).`,
    ...(findings.length === 0 ? [] : ['', '### Findings', '']),
    ...findings.slice(0, LISTED_MAX).map((line) => `- ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}
