import { freePort } from '#deploy/local/servers/free-port';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { onFile } from '#test/support/servers/service';

/** Maximum duration of a process, in milliseconds. */
const LIFE_MS_MAX = 900_000;

/** Environment variables of a service on a file. */
export function fileVariables(file: string): Record<string, string> {
  return {
    ...onFile(file),
    SERVICE_CONSOLE_ENABLED: 'false',
    SERVICE_LOG_LEVEL: 'warn',
  };
}

/** A process of the service. Disposing kills the process. */
export type Life = AsyncDisposable & {
  readonly run: ProcessRun;
  /** Resolves when the service is ready. Rejects if the process ends first. */
  readonly ready: Promise<void>;
  /** URL of the admin port. Call after `ready`. */
  readonly adminUrl: () => string;
  /** Kills the process with SIGKILL. Resolves when the process has ended. */
  readonly kill: () => Promise<void>;
  /** Stops the process with SIGTERM. Rejects if the exit status is not 0. */
  readonly stop: () => Promise<void>;
};

/** A service on a file, which can be started several times at the same address. */
export class ServiceOnFile {
  readonly origin: string;
  readonly #variables: Record<string, string>;

  private constructor(port: number, variables: Record<string, string>) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#variables = { ...variables, SERVICE_PORT: `${port}` };
  }

  /** Prepares a service without starting it. `variables` are added to the variables of the file. */
  static async on(file: string, variables: Record<string, string> = {}): Promise<ServiceOnFile> {
    return new ServiceOnFile(await freePort(), { ...fileVariables(file), ...variables });
  }

  /** Starts the next process. */
  start(): Life {
    const run = runMain(['standalone'], this.#variables, LIFE_MS_MAX);
    const ready = run.says(/Ctrl-C/);
    // Callers handle the rejection when they await `ready`.
    ready.catch(() => undefined);
    const kill = async () => {
      run.child.kill('SIGKILL');
      await run.ended;
    };
    return {
      run,
      ready,
      kill,
      [Symbol.asyncDispose]: kill,
      adminUrl: () => /Admin +(http:\S+)/.exec(run.stdout())?.[1] ?? '',
      async stop() {
        run.child.kill('SIGTERM');
        const code = await run.ended;
        if (code !== 0) throw new Error(`the service ended with ${code}: ${run.stderr()}`);
      },
    };
  }
}
