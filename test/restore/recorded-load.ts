import { setTimeout as sleep } from 'node:timers/promises';
import type { EdgeCaller } from '#test/chaos/edge-caller';

/** An instance that one caller observes, one call after the other. */
export type Recorded = {
  readonly id: string;
  /** Observations that were sent, and those of them that were answered with 200. */
  sent: number;
  acknowledged: number;
};

/** The counts of all instances at one time. */
export type Counts = ReadonlyMap<string, Omit<Recorded, 'id'>>;

/** How long a caller waits that was refused, in milliseconds. */
const REFUSED_MS = 200;

/** When the first observation of each instance was made; the next are a second apart. */
const FIRST_MS = Date.parse('2026-06-01T00:00:00Z');

/** The instances of an account, and what is known of them. */
export class RecordedLoad {
  readonly #apiKey: string;
  readonly #instances: Recorded[] = [];
  #caller: EdgeCaller;
  #isRunning = false;
  #workers: Promise<unknown> = Promise.resolve();

  constructor(caller: EdgeCaller, apiKey: string) {
    this.#caller = caller;
    this.#apiKey = apiKey;
  }

  get instances(): readonly Recorded[] {
    return this.#instances;
  }

  /** Goes on with another cluster. */
  moveTo(caller: EdgeCaller): void {
    this.#caller = caller;
  }

  /** Makes an instance. Rejects unless it is answered with 201. */
  async create(): Promise<Recorded> {
    const { status, data } = await this.#ask('POST', '/instances', { name: 'restored' });
    if (status !== 201) throw new Error(`a create was answered ${status}`);
    const instance = { id: data?.id ?? '', sent: 0, acknowledged: 0 };
    this.#instances.push(instance);
    return instance;
  }

  /** Begins to observe all, with as many calls in flight as there are workers. */
  start(workers: number): void {
    this.#isRunning = true;
    const shares = Array.from({ length: workers }, (_, worker) =>
      this.#instances.filter((_one, place) => place % workers === worker),
    );
    this.#workers = Promise.all(shares.map((share) => this.#work(share)));
  }

  /** Fulfils when no call of the workers is under way any more. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#workers;
  }

  /** What is known now. */
  counts(): Counts {
    return new Map(
      this.#instances.map(({ id, sent, acknowledged }) => [id, { sent, acknowledged }]),
    );
  }

  /** Observes an instance once more. Fulfils with status and cycle; status 0 where no answer came. */
  async observe(instance: Recorded, idempotencyKey?: string) {
    const second = instance.sent;
    // Before the answer: what is under way at the mark may be there.
    instance.sent += 1;
    const answer = await this.observeAt(instance.id, second, idempotencyKey);
    if (answer.status === 200) instance.acknowledged += 1;
    return answer;
  }

  /** Observes an instance as `observe` did at that second, with the same key and body. */
  async observeAt(id: string, second: number, idempotencyKey?: string) {
    const timestamp = new Date(FIRST_MS + second * 1_000).toISOString();
    const body = { mode_target: 'ORDER', signal_strength: (second % 10) / 10, timestamp };
    const path = `/instances/${id}/process`;
    const { status, data } = await this.#ask('POST', path, body, idempotencyKey);
    return { status, cycle: data?.snapshot?.cycle };
  }

  /** How many cycles an instance has, by the API. Rejects when it is not there. */
  async cyclesOf({ id }: Recorded): Promise<number> {
    const { status, data } = await this.#ask('GET', `/instances/${id}`);
    if (status !== 200) throw new Error(`${id} was answered ${status}`);
    return data?.cycle_count ?? 0;
  }

  async #work(share: readonly Recorded[]): Promise<void> {
    while (this.#isRunning) {
      for (const instance of share) {
        if (!this.#isRunning) return;
        const { status } = await this.observe(instance);
        // Cassandra is away while several nodes make their marks.
        if (status === 503) await sleep(REFUSED_MS);
        else if (status !== 200) return;
      }
    }
  }

  async #ask(method: 'GET' | 'POST', path: string, body?: unknown, idempotencyKey?: string) {
    const apiKey = this.#apiKey;
    const answer = await this.#caller.send({ method, path, apiKey, idempotencyKey, body });
    if (answer.kind !== 'answer') return { status: 0, data: undefined };
    const { data }: { readonly data?: Data } = JSON.parse(answer.body);
    return { status: answer.status, data };
  }
}

/** What is read of an answer. */
type Data = {
  readonly id?: string;
  readonly cycle_count?: number;
  readonly snapshot?: { readonly cycle: number };
};

/** The sums of all instances. */
export function sumOf(counts: Counts): Omit<Recorded, 'id'> {
  const all = [...counts.values()];
  return {
    sent: all.reduce((sum, { sent }) => sum + sent, 0),
    acknowledged: all.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
  };
}
