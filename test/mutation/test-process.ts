import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { killGroup } from '#test/runner/program';

/** How a test file ended: `stopped` is one that would not end, or took far more than it should. */
export type Ending = 'passed' | 'failed' | 'stopped';

/** What a test file may take before it counts as one that never ends. */
export type Allowance = { readonly cpuSeconds: number; readonly wallMs: number };

/** What uvu writes for a test that failed, as soon as it has. */
const FAILED = '✘';

/** A mutant may fill memory for ever. */
const HEAP_MB_MAX = 768;

const HOOK = pathToFileURL('test/mutation/serve-mutant.ts').href;

/** Compiled code of what stays the same, which is half of what a start takes. */
const CODE = mkdtempSync(join(tmpdir(), 'mutation-'));

/** The process groups that run now: none of them may outlive this process. */
const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) killGroup(group);
  rmSync(CODE, { recursive: true });
});

/**
 * Runs a test file in a process group of its own, which ends with the first test that fails. CPU time
 * is bounded apart from time on the clock, so that a busy machine does not look like a loop.
 */
export function runTestFile(
  file: string,
  variables: Readonly<Record<string, string>>,
  { cpuSeconds, wallMs }: Allowance,
): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const options = `--import ${HOOK} --max-old-space-size=${HEAP_MB_MAX} --no-warnings`;
    const settings = { NODE_OPTIONS: options, NODE_COMPILE_CACHE: CODE, FORCE_COLOR: '0' };
    const env = { ...process.env, ...settings, ...variables };
    const script = `ulimit -t ${cpuSeconds}; exec "$0" "$@"`;
    const child = spawn('sh', ['-c', script, process.execPath, file], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const group = child.pid ?? 0;
    groups.add(group);
    let ending: Ending | undefined;
    const finish = (found: Ending): void => {
      ending ??= found;
      killGroup(group);
    };
    const timer = setTimeout(() => finish('stopped'), wallMs);
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes(FAILED)) finish('failed');
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      killGroup(group);
      groups.delete(group);
      resolve(ending ?? endingOf(code, signal));
    });
  });
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (code === 0) return 'passed';
  return signal === 'SIGXCPU' || signal === 'SIGKILL' ? 'stopped' : 'failed';
}
