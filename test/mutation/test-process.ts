import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { killGroup } from '#test/runner/program';

/** Result of a test file. `stopped`: the test file exceeded a time limit. */
export type Ending = 'passed' | 'failed' | 'stopped';

/** Time limits of a test file. */
export type Allowance = { readonly cpuSeconds: number; readonly wallMs: number };

/** Mark that uvu prints for a failed test. */
const FAILED = '✘';

/** Maximum heap in MB, because a mutant may allocate endlessly. */
const HEAP_MB_MAX = 768;

const HOOK = pathToFileURL('test/mutation/serve-mutant.ts').href;

/** Folder of the compile cache, which halves the start time. */
const CODE = mkdtempSync(join(tmpdir(), 'mutation-'));

/** Running process groups, killed when this process exits. */
const groups = new Set<number>();
process.on('exit', () => {
  for (const group of groups) killGroup(group);
  rmSync(CODE, { recursive: true });
});

/**
 * Runs a test file in its own process group until the first failure. CPU time has its own limit, so
 * that an endless loop ends soon and a busy machine does not end a test.
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
