import { type Call, HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import type { Service } from '#bench/processes/service';
import { withProgress } from '#bench/progress';

/** Time between two timestamps of an instance, in ms: above the model's minimum interval. */
const STEP_MS = 2_000;

/** Timestamp of the first observation: an arbitrary past time. */
const FIRST_MS = Date.UTC(2026, 0, 1);

/** Instances and their acknowledged observations, to prove that no observation is lost. */
export class ObservedInstances implements Disposable {
  readonly ids: string[] = [];
  readonly #caller: HttpCaller;
  readonly #acknowledged: number[] = [];
  readonly #print: (line: string) => void;

  constructor({ address, key }: Pick<Service, 'address' | 'key'>, print: (line: string) => void) {
    this.#caller = new HttpCaller(address, key);
    this.#print = print;
  }

  /** Creates `count` more instances. */
  async create(count: number): Promise<void> {
    const call = (i: number): Call => ({
      method: 'POST',
      path: '/v1/instances',
      body: `{"name":"agent ${i}"}`,
    });
    const idOf = (answer: unknown) => String(at(answer, ['data', 'id']));
    this.ids.push(...(await this.#each('created', count, call, idOf)));
    while (this.#acknowledged.length < this.ids.length) this.#acknowledged.push(0);
  }

  /** Observes each instance once, 64 in flight. Throws if an answer is not the next cycle. */
  async observeEach(instances: readonly number[]): Promise<void> {
    const call = (i: number) => this.#observation(instances[i] ?? 0);
    const made = await this.#each('observed', instances.length, call, cycleIn);
    made.forEach((cycle, i) => void this.#acknowledge(instances[i] ?? 0, cycle));
  }

  /** Observes an instance. Throws if the answer is a refusal or not the next cycle. */
  async observe(instance: number): Promise<void> {
    const answer = await this.#caller.send(this.#observation(instance));
    this.#acknowledge(instance, cycleIn(answer));
  }

  /** Reads the cycle of each instance; throws if a cycle differs from the acknowledged cycle. */
  async prove(instances: readonly number[]): Promise<void> {
    const call = (i: number): Call => ({ method: 'GET', path: this.#pathOf(instances[i] ?? 0) });
    const cycleOf = (answer: unknown) => at(answer, ['data', 'cycle_count']);
    const found = await this.#each('proven', instances.length, call, cycleOf);
    const wrong = instances.filter((instance, i) => found[i] !== this.#acknowledged[instance]);
    if (wrong.length === 0) return;
    const [first = 0] = wrong;
    const cycles = `cycle ${found[instances.indexOf(first)]}, not ${this.#acknowledged[first]}`;
    throw new Error(
      `${wrong.length} instances lost acknowledged cycles: the first is at ${cycles}`,
    );
  }

  /** Closes the kept connections. */
  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }

  #observation(instance: number): Call {
    const atMs = FIRST_MS + (this.#acknowledged[instance] ?? 0) * STEP_MS;
    const timestamp = new Date(atMs).toISOString();
    const body = JSON.stringify({ mode_target: 'ORDER', signal_strength: 0.6, timestamp });
    return { method: 'POST', path: `${this.#pathOf(instance)}/process`, body };
  }

  #pathOf(instance: number): string {
    return `/v1/instances/${this.ids[instance]}`;
  }

  #acknowledge(instance: number, cycle: unknown): void {
    const due = (this.#acknowledged[instance] ?? 0) + 1;
    if (cycle !== due) throw new Error(`expected cycle ${due}, got ${cycle}`);
    this.#acknowledged[instance] = due;
  }

  async #each<Answer>(
    done: string,
    count: number,
    callOf: (index: number) => Call,
    read: (answer: unknown) => Answer,
  ): Promise<Answer[]> {
    let answered = 0;
    const line = () => `${answered} of ${count} ${done}`;
    return await withProgress(line, this.#print, () =>
      this.#caller.sendAll(count, callOf, (answer) => {
        answered += 1;
        return read(answer);
      }),
    );
  }
}

function cycleIn(answer: unknown): unknown {
  return at(answer, ['data', 'snapshot', 'cycle']);
}
