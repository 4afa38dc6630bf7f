import { spawn } from 'node:child_process';

/** Time for one test file, in milliseconds. A file that takes longer hangs. */
export const FILE_MS_MAX = 400_000;

/** Environment variables; `undefined` takes one away. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Exit code (null after a signal) and all output of a program. */
export type ProgramEnd = { readonly code: number | null; readonly text: string };

/**
 * Runs a program with further variables. The program leads a process group of its own, which is
 * killed when the program takes longer than `msMax` or when this process exits.
 */
export function runToEnd(
  program: string,
  args: readonly string[],
  variables: Variables = {},
  msMax = FILE_MS_MAX,
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...variables };
    const child = spawn(program, [...args], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    child.stdout.on('data', (chunk) => (text += chunk));
    child.stderr.on('data', (chunk) => (text += chunk));
    const cut = (): void => killGroup(child.pid);
    process.once('exit', cut);
    const timer = setTimeout(() => {
      text += `\nstill running after ${msMax / 1_000} s: killed\n`;
      cut();
    }, msMax);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      process.off('exit', cut);
      resolve({ code, text });
    });
  });
}

/** Kills a process and everything that it started, if it still runs. */
export function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
