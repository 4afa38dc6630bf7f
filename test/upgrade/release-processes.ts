import { metricValues } from '#test/support/metric-values';
import { addressIn, type ProcessRun, runMain } from '#test/support/process-run';

/** Parts in upgrade order. */
export const UPGRADE_ORDER = ['limiter', 'engine', 'edge'] as const;

/** Role of a process. */
export type Part = (typeof UPGRADE_ORDER)[number];

/** Properties that a replacement process keeps. */
export type Place = {
  readonly part: Part;
  readonly name: string;
  /** Fixed ports of an edge, known to the balancer. */
  readonly ports: Readonly<Record<string, string>>;
};

/** Maximum process lifetime, in milliseconds, for a whole test file. */
const RUN_MS_MAX = 400_000;

/** Processes of two releases, by place name. */
export class ReleaseProcesses implements AsyncDisposable {
  readonly #variables: Readonly<Record<string, string>>;
  readonly #places: readonly Place[];
  readonly #runs = new Map<string, ProcessRun>();
  readonly #past: ProcessRun[] = [];

  constructor(places: readonly Place[], variables: Readonly<Record<string, string>>) {
    this.#places = places;
    this.#variables = variables;
  }

  /** Process names of a part. */
  named(part: Part): readonly string[] {
    return this.#places.filter((place) => place.part === part).map(({ name }) => name);
  }

  /** Starts all processes of these parts from a release folder. Resolves when all are ready. */
  async startAll(parts: readonly Part[], folder: string): Promise<void> {
    const names = parts.flatMap((part) => this.named(part));
    await Promise.all(names.map((name) => this.#start(name, folder)));
  }

  /** Stops a process with SIGTERM and restarts it from the folder. Resolves when it is ready. */
  async replace(name: string, folder: string): Promise<void> {
    await this.#end(name);
    await this.#start(name, folder);
  }

  /** Kills a process with SIGKILL and restarts it. Other processes recover its journal. */
  async crash(name: string, folder: string): Promise<void> {
    const run = this.#runs.get(name);
    run?.child.kill('SIGKILL');
    await run?.ended;
    await this.#start(name, folder);
  }

  /** Address of a running process by part. */
  addressOf(part: Part, port: string): string {
    const [run] = this.#live(part);
    if (run === undefined) throw new Error(`no ${part} runs`);
    return addressIn(run, port);
  }

  /** Number of records that running engines, without `excepted`, recovered from other journals. */
  async recoveredRecords(excepted?: string): Promise<number> {
    const runs = this.#live('engine').filter((run) => run !== this.#runs.get(excepted ?? ''));
    const counts = runs.map(async (run) => {
      const values = await metricValues({ metricsUrl: addressIn(run, 'metrics') });
      return values.get('recovered_records_total{service="engine"}') ?? 0;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Log lines of all present and past processes with the request ids in these texts. */
  loggedOf(texts: readonly string[]): string {
    const ids = texts.flatMap((text) => text.match(/req_[0-9a-f]+/g) ?? []);
    const lines = this.#past.flatMap(({ stderr }) => stderr().split('\n'));
    return lines.filter((line) => ids.some((id) => line.includes(id))).join('\n');
  }

  /** Stops all processes, edges first. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of UPGRADE_ORDER.toReversed()) {
      await Promise.all(this.named(part).map((name) => this.#end(name)));
    }
  }

  async #start(name: string, folder: string): Promise<void> {
    const place = this.#places.find((one) => one.name === name);
    if (place === undefined) throw new Error(`there is no ${name}`);
    const { part, ports } = place;
    // The balancer probes readiness every half second.
    const own = { SERVICE_NODE_NAME: name, SERVICE_DRAIN_SECONDS: '2', ...ports };
    const run = runMain([part], { ...this.#variables, ...own }, RUN_MS_MAX, folder);
    this.#runs.set(name, run);
    this.#past.push(run);
    await run.says(new RegExp(`${part} is ready`));
  }

  /** Stops a process, as an operator does. Throws unless the process ends cleanly. */
  async #end(name: string): Promise<void> {
    const run = this.#runs.get(name);
    if (run === undefined || !isLive(run)) return;
    run.child.kill('SIGTERM');
    const code = await run.ended;
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${run.stderr()}`);
  }

  #live(part: Part): ProcessRun[] {
    const runs = this.named(part).map((name) => this.#runs.get(name));
    return runs.filter((run) => run !== undefined).filter(isLive);
  }
}

function isLive({ child }: ProcessRun): boolean {
  return child.exitCode === null && child.signalCode === null;
}
