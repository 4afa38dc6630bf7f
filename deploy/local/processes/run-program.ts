import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Maximum length of kept output, in characters. Enough for versions and error messages. */
const OUTPUT_KEPT = 64_000;

/** Result of a program: success, and stdout and stderr as one text. */
export type ProgramRun = { readonly isOk: boolean; readonly output: string };

/** A program to run, with its time limit. */
export type Program = {
  readonly program: string;
  readonly args: readonly string[];
  readonly msMax: number;
  /** Variables in addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working folder. Default: the folder of this process. */
  readonly folder?: string;
  /** Called for every piece of output, to report progress. */
  readonly onOutput?: (text: string) => void;
};

/** Runs a program. `isOk` is false after a failed start or a timeout. Never throws. */
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

/** Runs a program and returns its output. Throws an error with the output if the program fails. */
export async function outputOf(wanted: Program): Promise<string> {
  const { isOk, output } = await runProgram(wanted);
  if (isOk) return output;
  throw new Error(`${wanted.program} ${wanted.args.join(' ')}: ${output}`);
}

/** Last non-empty line of a text, which usually has the reason of a failure. */
export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? '';
}
