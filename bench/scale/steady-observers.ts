import { HttpCaller } from '#bench/http-caller';
import { at } from '#bench/process-answer';
import type { Service } from '#bench/service';

/** Observations a second: far below what the machine can do, so that their times say how it is shared. */
const PER_SECOND = 50;

/** As many as are observed in the longest call: an instance has one call under way. */
const INSTANCES = 500;

/** How often it is looked which calls are due, in ms. */
const TICK_MS = 4;

const OBSERVATION = '{"mode_target":"ORDER","signal_strength":0.6}';

/** What observers saw: the time of each answer in ms, and the calls that were not answered 2xx. */
export type Observed = { readonly times: readonly number[]; readonly failed: number };

/** Whom steady observers observe, and how often, where that is not as usual. */
type Observing = {
  /** Instances that are there already: they need not be made. */
  readonly ids?: readonly string[];
  readonly perSecond?: number;
};

/** Callers of an account who observe at a steady rate, however long answers take. */
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

  /** Makes the instances. */
  async create(): Promise<void> {
    const call = { method: 'POST', path: '/v1/instances', body: '{"name":"observed"}' } as const;
    const idOf = (answer: unknown) => String(at(answer, ['data', 'id']));
    this.#ids = await this.#caller.sendAll(INSTANCES, () => call, idOf);
  }

  /** Observes while `work` is under way. A call's time begins when it was due. */
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
