import type { Child } from '#bench/child';
import { fileVariables } from '#bench/file-service';
import { freePorts } from '#bench/free-ports';
import { untilAnswered } from '#bench/readiness';
import { metricsUrlOf, startRole } from '#bench/service';

/** How the service's key is known: it was made when the file was. */
type OpenedFile = { readonly file: string; readonly key: string };

/** The service on one file, which is ended and started again at the same ports. */
export class RestartedService implements AsyncDisposable {
  readonly address: string;
  readonly key: string;
  readonly metricsUrls: readonly string[];
  readonly #start: () => Child;
  #child: Child | undefined;

  private constructor({ file, key }: OpenedFile, ports: readonly number[]) {
    const [api = 0, metrics = 0, admin = 0] = ports;
    this.key = key;
    this.address = `http://127.0.0.1:${api}`;
    this.metricsUrls = [metricsUrlOf(metrics)];
    const variables = {
      ...fileVariables(file),
      SERVICE_PORT: `${api}`,
      SERVICE_ADMIN_PORT: `${admin}`,
      SERVICE_CONSOLE_ENABLED: 'false',
    };
    this.#start = () => startRole('standalone', metrics, variables);
  }

  /** For a file that is there; the service is not started. */
  static async on(opened: OpenedFile): Promise<RestartedService> {
    return new RestartedService(opened, await freePorts(3));
  }

  /** Starts it; gives the time from there to its first answer, which is to an observation, in ms. */
  async start(instanceId: string): Promise<number> {
    const startedMs = performance.now();
    const child = this.#start();
    this.#child = child;
    const url = `${this.address}/v1/instances/${instanceId}/process`;
    const headers = {
      authorization: `Bearer ${this.key}`,
      'content-type': 'application/json',
    };
    const body = '{"mode_target":"ORDER","signal_strength":0.6}';
    await untilAnswered(child, async () => {
      const answer = await fetch(url, { method: 'POST', headers, body });
      return answer.status === 200 ? true : undefined;
    });
    return performance.now() - startedMs;
  }

  /** Sends the signal that ends it; gives the time until it has ended, in ms. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
    const startedMs = performance.now();
    this.#child?.kill(signal);
    await this.#child?.ended();
    return performance.now() - startedMs;
  }

  /** The id of the process that runs. */
  get pid(): number {
    if (this.#child === undefined) throw new Error('the service was not started');
    return this.#child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.[Symbol.asyncDispose]();
  }
}
