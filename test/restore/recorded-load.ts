import { setTimeout as sleep } from 'node:timers/promises';
import type { EdgeCaller } from '#test/chaos/load/edge-caller';

/** An instance that one caller observes sequentially. */
export type Recorded = {
  readonly id: string;
  /** Sent observations. */
  sent: number;
  acknowledged: number;
};

/** Counts of all instances at one point in time. */
export type Counts = ReadonlyMap<string, Omit<Recorded, 'id'>>;

/** Pause of a refused caller, in milliseconds. */
const REFUSED_MS = 200;

/** Timestamp of each instance's first observation. Later observations follow 1 s apart. */
const FIRST_MS = Date.parse('2026-06-01T00:00:00Z');

/** Load on an account's instances, with observation counts. */
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

  /** Continues with another cluster. */
  moveTo(caller: EdgeCaller): void {
    this.#caller = caller;
  }

  /** Creates an instance. Rejects unless the status is 201. */
  async create(): Promise<Recorded> {
    const { status, data } = await this.#ask('POST', '/instances', { name: 'restored' });
    if (status !== 201) throw new Error(`a create got status ${status}`);
    const instance = { id: data?.id ?? '', sent: 0, acknowledged: 0 };
    this.#instances.push(instance);
    return instance;
  }

  /** Starts to observe all instances. Each worker has one call in flight. */
  start(workers: number): void {
    this.#isRunning = true;
    const shares = Array.from({ length: workers }, (_, worker) =>
      this.#instances.filter((_one, place) => place % workers === worker),
    );
    this.#workers = Promise.all(shares.map((share) => this.#work(share)));
  }

  /** Stops the workers. Resolves when no call is in flight. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#workers;
  }

  /** Current counts. */
  counts(): Counts {
    return new Map(
      this.#instances.map(({ id, sent, acknowledged }) => [id, { sent, acknowledged }]),
    );
  }

  /** Observes an instance once. Resolves with status and cycle. Without an answer, status is 0. */
  async observe(instance: Recorded, idempotencyKey?: string) {
    const second = instance.sent;
    // Counted before the answer, because a call in flight at the mark may take effect.
    instance.sent += 1;
    const answer = await this.observeAt(instance.id, second, idempotencyKey);
    if (answer.status === 200) instance.acknowledged += 1;
    return answer;
  }

  /** Sends the observation with the timestamp of this second. Equal calls have equal bodies. */
  async observeAt(id: string, second: number, idempotencyKey?: string) {
    const timestamp = new Date(FIRST_MS + second * 1_000).toISOString();
    const body = { mode_target: 'ORDER', signal_strength: (second % 10) / 10, timestamp };
    const path = `/instances/${id}/process`;
    const { status, data } = await this.#ask('POST', path, body, idempotencyKey);
    return { status, cycle: data?.snapshot?.cycle };
  }

  /** Cycle count of an instance from the API. Rejects if the instance is missing. */
  async cyclesOf({ id }: Recorded): Promise<number> {
    const { status, data } = await this.#ask('GET', `/instances/${id}`);
    if (status !== 200) throw new Error(`${id} got status ${status}`);
    return data?.cycle_count ?? 0;
  }

  async #work(share: readonly Recorded[]): Promise<void> {
    while (this.#isRunning) {
      for (const instance of share) {
        if (!this.#isRunning) return;
        const { status } = await this.observe(instance);
        // Cassandra is unavailable while several nodes make their marks.
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

/** Parsed parts of an answer. */
type Data = {
  readonly id?: string;
  readonly cycle_count?: number;
  readonly snapshot?: { readonly cycle: number };
};

/** Sums over all instances. */
export function sumOf(counts: Counts): Omit<Recorded, 'id'> {
  const all = [...counts.values()];
  return {
    sent: all.reduce((sum, { sent }) => sum + sent, 0),
    acknowledged: all.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
  };
}
