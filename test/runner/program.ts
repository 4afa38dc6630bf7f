import { spawn } from 'node:child_process';

/** Maximum duration of a test file, in milliseconds. */
export const FILE_MS_MAX = 400_000;

/** Environment variables. `undefined` removes a variable. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Exit code (null after a signal) and output of a program. */
export type ProgramEnd = { readonly code: number | null; readonly text: string };

/**
 * Runs a program with additional environment variables, in its own process group. The process group
 * is killed after `msMax` milliseconds or when this process exits.
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
      text += `\nkilled, because the program was still running after ${msMax / 1_000} s\n`;
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

/** Kills a process group if it is running. */
export function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
