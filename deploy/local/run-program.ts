import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Characters of output that are kept: enough for any version text and any reason of a failure. */
const OUTPUT_KEPT = 64_000;

/** How a program ended and what it wrote, both streams mixed. */
export type ProgramRun = { readonly isOk: boolean; readonly output: string };

/** What is run, and for how long at most. */
export type Program = {
  readonly program: string;
  readonly args: readonly string[];
  readonly msMax: number;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is run, for one that leaves files there; this process's own folder unless named. */
  readonly folder?: string;
  /** Hears every piece of output, so that a long run can be reported. */
  readonly onOutput?: (text: string) => void;
};

/** Runs a program to its end. One that cannot be started or takes too long is one that failed. */
export async function runProgram(wanted: Program): Promise<ProgramRun> {
  const { program, args, msMax, env = {}, folder, onOutput } = wanted;
  const child = spawn(program, [...args], {
    env: { ...process.env, ...env },
    ...(folder === undefined ? {} : { cwd: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: msMax,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_KEPT);
      onOutput?.(text);
    });
  }
  const cut = (): void => void child.kill('SIGKILL');
  process.once('exit', cut);
  const code = await once(child, 'close').then(
    ([exitCode]) => exitCode as number | null,
    (error: unknown) => {
      output += String(error);
      return null;
    },
  );
  process.off('exit', cut);
  return { isOk: code === 0, output };
}

/** The last line of a text that says anything: usually the reason of a failure. */
export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? '';
}
