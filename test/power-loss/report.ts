import { loadavg } from 'node:os';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { ImagesResult } from '#test/power-loss/image-check';
import type { KillsResult } from '#test/power-loss/kill-run';
import { machineText } from '#test/support/machine-text';

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
  const lines = [
    '# Power-loss test of one file',
    '',
    'This page shows whether a service on a SQLite file (`SERVICE_STORAGE=sqlite`) loses acknowledged data. `make power-loss`',
    'repeats the test.',
    '',
    '| | |',
    '|---|---|',
    '| Command | `make power-loss` |',
    `| Commit | ${COMMIT} |`,
    `| Machine | ${machineText()}; load average ${loadavg()[1]?.toFixed(1)} over 5 min |`,
    `| Duration | ${Math.round(seconds / 60)} min |`,
    '',
    findings.length === 0
      ? '**No findings.** The file contains each acknowledged change exactly once, with the state in its answer. A replay of each\nhistory gives the stored state. No account exceeds its plan.'
      : `**Findings: ${findings.length}**, listed below.`,
    '',
    '## Power loss',
    '',
    'The test records the disk writes of a service under load. Each image is a possible disk content after a power loss: all',
    'synced writes, and a random part of the other writes. A head is the stored row with the state of an instance.',
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
    'The test checks a copy of the file after each kill, and the file at the end. The numbers of a row differ for these',
    'reasons:',
    '',
    '- **Calls and acknowledged calls.** While the process is down or starts, the service acknowledges no call. After an',
    '  account has used its quota, the service refuses observations.',
    '- **Acknowledged calls and observations.** A read has no observation, and a batch has several observations. A delete',
    '  removes all observations of its instance.',
    '',
    '| Kills (during a start) | Calls | Acknowledged calls | Observations at the end | Heads recomputed from history | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...kills.map((file) => {
      const { calls, observations, findings: last } = file.last;
      const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
      return `| ${file.kills} (${file.inStart}) | ${all} | ${calls.acknowledged} | ${observations} | ${file.verified} | ${file.findings.length + last.count} |`;
    }),
    '',
    `In ${readyMs.length} restarts, the service was ready after ${Math.round(readyMs.at(readyMs.length >> 1) ?? 0)} ms (p50), at most ${Math.round(readyMs.at(-1) ?? 0)} ms. Load and checks used the same machine.`,
    ...(findings.length === 0 ? [] : ['', '### Findings', '']),
    ...findings.slice(0, LISTED_MAX).map((line) => `- ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}
