import { spawn } from 'node:child_process';

/** Timeout in ms, longer than every timeout passed to kubectl. */
const RUN_MS_MAX = 360_000;

/** Exit status and output of a command. */
export type Answer = { readonly isOk: boolean; readonly out: string; readonly err: string };

/** Input, environment and timeout of a command. */
export type Given = {
  readonly input?: string;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly msMax?: number;
};

/** Runs a program. After the timeout, kills the program with its children and returns a failure. */
export async function runCommand(
  program: string,
  args: readonly string[],
  { input = '', env = {}, msMax = RUN_MS_MAX }: Given = {},
): Promise<Answer> {
  // Own process group, because children of a killed shell would keep its output open.
  const child = spawn(program, [...args], { env: { ...process.env, ...env }, detached: true });
  const written = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.err += text));
  child.stdin.on('error', () => undefined).end(input);
  const cut = (): void => endGroup(child.pid);
  process.once('exit', cut);
  const timer = setTimeout(() => {
    written.err += `${program} was killed after ${msMax} ms`;
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
    // The process group has already ended.
  }
}
