import { freePort } from '#deploy/local/free-port';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { onFile } from '#test/support/service';

/** No life of the service in these tests is longer, in milliseconds. */
const LIFE_MS_MAX = 900_000;

/** What makes a service keep its data in a file. */
export function fileVariables(file: string): Record<string, string> {
  return {
    ...onFile(file),
    SERVICE_CONSOLE_ENABLED: 'false',
    SERVICE_LOG_LEVEL: 'warn',
  };
}

/** A life of the service on a file; disposing it ends it at once. */
export type Life = AsyncDisposable & {
  readonly run: ProcessRun;
  /** Fulfils when it serves; rejects when it ends before. */
  readonly ready: Promise<void>;
  /** Of its admin port, once it serves. */
  readonly adminUrl: () => string;
  /** Ends it at once, and fulfils when it has ended. */
  readonly kill: () => Promise<void>;
  /** Ends it in good order; rejects when that fails. */
  readonly stop: () => Promise<void>;
};

/** A service on a file, in as many lives as a test wants; callers find all of them at one address. */
export class ServiceOnFile {
  readonly origin: string;
  readonly #variables: Record<string, string>;

  private constructor(port: number, variables: Record<string, string>) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#variables = { ...variables, SERVICE_PORT: `${port}` };
  }

  /** A service that has not been started; `variables` are added to those of the file. */
  static async on(file: string, variables: Record<string, string> = {}): Promise<ServiceOnFile> {
    return new ServiceOnFile(await freePort(), { ...fileVariables(file), ...variables });
  }

  /** Starts its next life. */
  start(): Life {
    const run = runMain(['standalone'], this.#variables, LIFE_MS_MAX);
    const ready = run.says(/Ctrl-C/);
    // Looked at by those who wait for it.
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
