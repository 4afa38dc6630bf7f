import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { readJson } from '#deploy/local/processes/json-file';
import { lastLine } from '#deploy/local/processes/run-program';
import { environmentOf } from '#deploy/local/processes/service-process';
import type { Metrics } from '#loadtest/k6/verdict';

const SCRIPT = fileURLToPath(import.meta.resolve('#loadtest/k6/load.k6'));

/** Exit codes of k6 with usable figures: 0 (all thresholds met) and 99 (a threshold missed). */
const HAS_FIGURES = new Set([0, 99]);

/** Maximum number of distinct complaints shown during the load. The log has all complaints. */
const COMPLAINTS_MAX = 5;

/** Parameters of a k6 run. */
export type K6Run = {
  readonly program: string;
  /** Folder for log, dashboard page and figures. */
  readonly folder: string;
  /** Environment variables for load.k6.ts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Address of k6's progress API: `127.0.0.1:port`. */
  readonly address: string;
  readonly print: (line: string) => void;
  /** Called after setup, when the first phase starts. */
  readonly onBegin: () => void;
  /** Called after the last phase. */
  readonly onEnd: () => void;
};

/** Result of a run: figures, and reasons why the figures are void. */
export type K6Result = { readonly metrics: Metrics; readonly faults: readonly string[] };

/** File names in the folder of a run. */
export const FILES = { page: 'report.html', log: 'k6.log', figures: 'metrics.json' } as const;

/** Runs k6 to its end. Throws with k6's last line if k6 writes no figures. */
export async function runK6(run: K6Run): Promise<K6Result> {
  const figures = join(run.folder, FILES.figures);
  const child = spawn(
    run.program,
    [
      'run',
      '--quiet',
      '--no-usage-report',
      '--log-format',
      'raw',
      '--address',
      run.address,
      SCRIPT,
    ],
    {
      env: environmentOf({
        ...run.variables,
        METRICS_FILE: figures,
        K6_WEB_DASHBOARD: 'true',
        // No listener: k6 writes the page at the end.
        K6_WEB_DASHBOARD_PORT: '-1',
        K6_WEB_DASHBOARD_PERIOD: '1s',
        K6_WEB_DASHBOARD_EXPORT: join(run.folder, FILES.page),
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
      // Own process group: this process forwards only the first Ctrl-C, so that k6 stops cleanly.
      detached: true,
    },
  );
  const faults: string[] = [];
  using _ending = forwardSignals(child, faults);
  const last = await readLines(child, run);
  const { exitCode, signalCode } = child;
  const metrics = readJson<Metrics>(figures);
  if (metrics === undefined) throw new Error(`k6 wrote no figures: ${last}`);
  if (exitCode === null || !HAS_FIGURES.has(exitCode)) {
    faults.push(`k6 ended with ${exitCode ?? signalCode} (${last})`);
  }
  return { metrics, faults };
}

/** The first Ctrl-C stops the load cleanly and voids the result; the second kills k6. */
function forwardSignals(child: ChildProcess, faults: string[]): Disposable {
  const kill = (): void => void child.kill('SIGKILL');
  const stop = (): void => {
    if (faults.length > 0) process.exit(130);
    faults.push('a signal ended the load early');
    child.kill('SIGINT');
  };
  process.on('exit', kill).on('SIGINT', stop).on('SIGTERM', stop);
  return {
    [Symbol.dispose]: () => {
      process.off('exit', kill).off('SIGINT', stop).off('SIGTERM', stop);
    },
  };
}

/** Writes k6's output to the log, prints messages for people, and returns the last line. */
async function readLines(child: ChildProcess, run: K6Run): Promise<string> {
  const log = createWriteStream(join(run.folder, FILES.log));
  const complaints = new Set<string>();
  let text = '';
  const closed = once(child, 'close');
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`);
      if (line.trim() !== '') text = line;
      if (line === 'load: begins') run.onBegin();
      else if (line === 'load: ends') run.onEnd();
      else if (line.startsWith('load: ')) run.print(line.slice('load: '.length));
      else if (line.startsWith('wrong: ')) complain(line);
    });
  }
  function complain(line: string): void {
    const kind = line.replace(/[0-9a-f]{16}|\d+/g, '');
    if (complaints.has(kind) || complaints.size >= COMPLAINTS_MAX) return;
    complaints.add(kind);
    run.print(line);
  }
  await closed;
  log.end();
  await finished(log);
  return lastLine(text);
}
