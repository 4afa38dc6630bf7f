import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import type { Service } from '#bench/processes/service';

/**
 * Observations per second: far below capacity, so that latencies show how other accounts' load
 * slows these calls.
 */
const PER_SECOND = 50;

/** Number of instances: at 50/s, each instance is observed every 10 s, longer than any call. */
const INSTANCES = 500;

/** Interval between checks for due calls, in ms. */
const TICK_MS = 4;

const OBSERVATION = '{"mode_target":"ORDER","signal_strength":0.6}';

/** Latency of each answer in ms, and the number of calls without a 2xx answer. */
export type Observed = { readonly times: readonly number[]; readonly failed: number };

/** Overrides of the observed instances and the rate. */
type Observing = {
  /** Existing instances; created if absent. */
  readonly ids?: readonly string[];
  readonly perSecond?: number;
};

/** Callers that send observations at a steady rate, independent of answers. */
export class SteadyObservers implements Disposable {
  readonly #caller: HttpCaller;
  readonly #perSecond: number;
  #ids: readonly string[];

  constructor(
    { address, key }: Pick<Service, 'address' | 'key'>,
    { ids = [], perSecond = PER_SECOND }: Observing = {},
  ) {
    this.#caller = new HttpCaller(address, key);
    this.#ids = ids;
    this.#perSecond = perSecond;
  }

  /** Creates the instances. */
  async create(): Promise<void> {
    const call = { method: 'POST', path: '/v1/instances', body: '{"name":"observed"}' } as const;
    const idOf = (answer: unknown) => String(at(answer, ['data', 'id']));
    this.#ids = await this.#caller.sendAll(INSTANCES, () => call, idOf);
  }

  /** Observes while `work` runs. Latency counts from the time when the call was due. */
  async during(work: () => Promise<unknown>): Promise<Observed> {
    const times: number[] = [];
    const calls: Promise<void>[] = [];
    let failed = 0;
    const observe = async (nth: number, dueMs: number): Promise<void> => {
      const path = `/v1/instances/${this.#ids[nth % this.#ids.length]}/process`;
      try {
        await this.#caller.send({ method: 'POST', path, body: OBSERVATION });
        times.push(performance.now() - dueMs);
      } catch {
        failed += 1;
      }
    };
    const startedMs = performance.now();
    const dueOf = (nth: number) => startedMs + (nth * 1_000) / this.#perSecond;
    const timer = setInterval(() => {
      while (dueOf(calls.length) <= performance.now()) {
        calls.push(observe(calls.length, dueOf(calls.length)));
      }
    }, TICK_MS);
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
    await Promise.all(calls);
    return { times, failed };
  }

  /** Closes the kept connections. */
  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }
}
