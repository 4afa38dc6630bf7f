import { cpus, loadavg, totalmem } from 'node:os';
import type { ImagesResult } from '#test/power-loss/image-check';
import type { KillsResult } from '#test/power-loss/kill-run';

/** What a whole run came to. */
export type PowerLossResult = {
  readonly images: (ImagesResult & { readonly syncUs: number; readonly calls: number })[];
  readonly kills: KillsResult[];
};

/** Findings that the report lists. */
const LISTED_MAX = 50;

/** Everything that is wrong, a line each. */
export function findingsOf({ images, kills }: PowerLossResult): string[] {
  return [
    ...images.flatMap((run) => run.findings),
    ...kills.flatMap((file) => [...file.findings, ...file.last.findings.lines]),
  ];
}

/** The report of what is known of a run, in Markdown. */
export function reportText(result: PowerLossResult, seconds: number): string {
  const { images, kills } = result;
  const findings = findingsOf(result);
  const readyMs = kills.flatMap((file) => file.readyMs).toSorted((left, right) => left - right);
  const [cpu] = cpus();
  const lines = [
    '# Kills and power loss of a file',
    '',
    'The service on one SQLite file (`SERVICE_STORAGE=sqlite`), killed and robbed of its power under load.',
    'Made by `make power-loss`; how: decision 274.',
    '',
    `Machine: ${cpus().length} × ${cpu?.model ?? '?'}, ${Math.round(totalmem() / 2 ** 30)} GiB; load average`,
    `${loadavg()[1]?.toFixed(1)} over the last 5 min; ${Math.round(seconds / 60)} min for all of it.`,
    '',
    findings.length === 0
      ? '**Nothing is wrong**: what was acknowledged is there once, with the answered state, every head follows\nfrom its history, and no account has more than its plan.'
      : `**${findings.length} things are wrong**, see below.`,
    '',
    '## Power loss',
    '',
    'Images of what a disk may hold at a moment: all that was synced, and of what was written since any part.',
    '',
    '| A sync takes longer by | Calls | Images | Observations found in them | Heads run again | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...images.map(
      (run) =>
        `| ${run.syncUs / 1_000} ms | ${run.calls} | ${run.images} | ${run.observations} | ${run.verified} | ${run.findings.length} |`,
    ),
    '',
    '## kill -9',
    '',
    'A copy of the file is checked after each kill, and the file itself at the end.',
    '',
    '| Kills (in a start) | Calls | Acknowledged | Observations at the end | Heads run again, in all copies | Findings |',
    '|---:|---:|---:|---:|---:|---:|',
    ...kills.map((file) => {
      const { calls, observations, findings: last } = file.last;
      const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
      return `| ${file.kills} (${file.inStart}) | ${all} | ${calls.acknowledged} | ${observations} | ${file.verified} | ${file.findings.length + last.count} |`;
    }),
    '',
    `From the start of the process after a kill until it served: ${Math.round(readyMs.at(readyMs.length >> 1) ?? 0)} ms at`,
    `the median, ${Math.round(readyMs.at(-1) ?? 0)} ms at most, of ${readyMs.length} starts, beside the load and the check.`,
    ...(findings.length === 0 ? [] : ['', '### Findings', '']),
    ...findings.slice(0, LISTED_MAX).map((line) => `- ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}
