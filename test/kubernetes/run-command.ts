import { spawn } from 'node:child_process';

/** Longer than any wait that a test names to kubectl itself: one that hangs ends. Milliseconds. */
const RUN_MS_MAX = 360_000;

/** How a command ended and what it wrote. */
export type Answer = { readonly isOk: boolean; readonly out: string; readonly err: string };

/** What a command is given. */
export type Given = {
  readonly input?: string;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly msMax?: number;
};

/**
 * Runs a program to its end. One that takes longer than it may is ended with all that it has started,
 * and is one that failed.
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  { input = '', env = {}, msMax = RUN_MS_MAX }: Given = {},
): Promise<Answer> {
  // A group of its own: a shell that is ended leaves what it runs, which keeps its output open.
  const child = spawn(program, [...args], { env: { ...process.env, ...env }, detached: true });
  const written = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.err += text));
  child.stdin.on('error', () => undefined).end(input);
  const cut = (): void => endGroup(child.pid);
  process.once('exit', cut);
  const timer = setTimeout(() => {
    written.err += `${program} was ended after ${msMax} ms`;
    cut();
  }, msMax);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('close', resolve).once('error', reject);
    });
    return { isOk: code === 0, ...written };
  } finally {
    clearTimeout(timer);
    process.off('exit', cut);
  }
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
