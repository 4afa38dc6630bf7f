import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Maximum time between SIGTERM and SIGKILL of a process, in ms. */
const STOP_MS_MAX = 5_000;

/** A program with its arguments and environment. */
export type Command = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** Number of output characters kept from the beginning, and from the end to explain a failure. */
const OUTPUT_KEPT = 4_000;

const running = new Set<Child>();

// Kill every child when this process exits, also after Ctrl-C or a crash.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(130));
}

/** A process that the benchmark starts. Disposal stops the process and its descendants. */
export class Child {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #beginning = '';
  #output = '';

  constructor(command: Command) {
    this.name = command.name;
    this.#process = spawn(command.program, [...command.args], {
      env: command.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A separate process group: `make` and `npm` do not pass signals on to their children.
      detached: true,
    });
    running.add(this);
    this.#ended = once(this.#process, 'close').then(
      () => this.#forget(),
      (error: unknown) => this.#fail(error),
    );
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#keep(text));
    }
  }

  /** The process id. Throws if the program did not start. */
  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error(`${this.name} did not start: ${this.output.trim()}`);
    return pid;
  }

  /** The first characters of stdout and stderr, interleaved. */
  get beginning(): string {
    return this.#beginning;
  }

  /** The last characters of stdout and stderr, interleaved. */
  get output(): string {
    return this.#output;
  }

  /** Whether the process has ended. */
  get isEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Resolves to the exit code when the process has ended; undefined after a signal. */
  async ended(): Promise<number | undefined> {
    await this.#ended;
    return this.#process.exitCode ?? undefined;
  }

  /** Sends a signal to the whole process group. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The process group has already ended.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!running.has(this)) return;
    const timer = setTimeout(() => this.kill('SIGKILL'), STOP_MS_MAX);
    this.kill('SIGTERM');
    await this.#ended;
    clearTimeout(timer);
  }

  #keep(text: string): void {
    this.#beginning += text.slice(0, OUTPUT_KEPT - this.#beginning.length);
    this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
  }

  #forget(): void {
    running.delete(this);
  }

  #fail(error: unknown): void {
    this.#keep(String(error));
    this.#forget();
  }
}

/** This process's environment without `SERVICE_` variables, plus `variables`. */
export function environment(variables: Record<string, string> = {}): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith('SERVICE_')) kept[name] = value;
  }
  return { ...kept, ...variables };
}

/** Runs a program and returns its output. Throws if the exit code is not 0. */
export async function run(command: Command): Promise<string> {
  await using child = new Child(command);
  const code = await child.ended();
  if (code !== 0) throw new Error(`${command.name} ended with ${code}:\n${child.output.trim()}`);
  return child.output;
}
