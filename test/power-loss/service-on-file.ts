import { freePort } from '#deploy/local/servers/free-port';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { onFile } from '#test/support/servers/service';

/** Maximum life of the service in these tests, in milliseconds. */
const LIFE_MS_MAX = 900_000;

/** Variables of a service on a file. */
export function fileVariables(file: string): Record<string, string> {
  return {
    ...onFile(file),
    SERVICE_CONSOLE_ENABLED: 'false',
    SERVICE_LOG_LEVEL: 'warn',
  };
}

/** A life of the service on a file; disposing kills it. */
export type Life = AsyncDisposable & {
  readonly run: ProcessRun;
  /** Resolves when ready; rejects if the process ends first. */
  readonly ready: Promise<void>;
  /** URL of the admin port, once ready. */
  readonly adminUrl: () => string;
  /** Kills the process; resolves when it has ended. */
  readonly kill: () => Promise<void>;
  /** Stops cleanly; rejects on failure. */
  readonly stop: () => Promise<void>;
};

/** A service on a file with several lives at one address. */
export class ServiceOnFile {
  readonly origin: string;
  readonly #variables: Record<string, string>;

  private constructor(port: number, variables: Record<string, string>) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#variables = { ...variables, SERVICE_PORT: `${port}` };
  }

  /** A stopped service; `variables` extend those of the file. */
  static async on(file: string, variables: Record<string, string> = {}): Promise<ServiceOnFile> {
    return new ServiceOnFile(await freePort(), { ...fileVariables(file), ...variables });
  }

  /** Starts the next life. */
  start(): Life {
    const run = runMain(['standalone'], this.#variables, LIFE_MS_MAX);
    const ready = run.says(/Ctrl-C/);
    // Callers await the rejection.
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
