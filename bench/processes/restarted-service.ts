import type { Child } from '#bench/processes/child';
import { fileVariables } from '#bench/processes/file-service';
import { freePorts } from '#bench/processes/free-ports';
import { untilReady } from '#bench/processes/readiness';
import { createKey, metricsUrlOf, startRole } from '#bench/processes/service';

/** The service on a SQLite file, restartable on the same ports. */
export class RestartedService implements AsyncDisposable {
  readonly file: string;
  readonly address: string;
  readonly metricsUrls: readonly string[];
  readonly #adminPort: number;
  readonly #start: (nodeArgs: readonly string[]) => Child;
  #child: Child | undefined;

  private constructor(file: string, ports: readonly number[]) {
    const [api = 0, metrics = 0, admin = 0] = ports;
    this.file = file;
    this.address = `http://127.0.0.1:${api}`;
    this.metricsUrls = [metricsUrlOf(metrics)];
    this.#adminPort = admin;
    const variables = {
      ...fileVariables(file),
      SERVICE_PORT: `${api}`,
      SERVICE_ADMIN_PORT: `${admin}`,
      SERVICE_CONSOLE_ENABLED: 'false',
    };
    this.#start = (nodeArgs) => startRole('standalone', metrics, variables, { nodeArgs });
  }

  /** Returns a stopped service on this file. The first start creates a missing file. */
  static async on(file: string): Promise<RestartedService> {
    return new RestartedService(file, await freePorts(3));
  }

  /** Process id. Throws before the first start. */
  get pid(): number {
    if (this.#child === undefined)
      throw new Error('the service is not started: call start() first');
    return this.#child.pid;
  }

  /** Starts the service; resolves when ready. */
  async start(nodeArgs: readonly string[] = []): Promise<void> {
    const child = this.#start(nodeArgs);
    this.#child = child;
    for (const url of this.metricsUrls) await untilReady(child, `${url}/health/ready`);
  }

  /** Creates an account with unreachable limits and returns its key. */
  createKey(): Promise<string> {
    return createKey(this.#adminPort);
  }

  /** Sends the signal; resolves when the process has ended, without a timeout. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.[Symbol.asyncDispose]();
  }
}

/** Time from the start of the process to the answer of `ask`, in ms. */
export async function firstAnswerMs(
  service: RestartedService,
  ask: () => Promise<unknown>,
): Promise<number> {
  const startedMs = performance.now();
  await service.start();
  await ask();
  return performance.now() - startedMs;
}
