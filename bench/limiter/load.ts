import { setTimeout as sleep } from 'node:timers/promises';
import { latenciesOf } from '#bench/scale/rates/latencies';

/** Requests a decision about an account, given by its number; resolves to true if granted. */
export type Decide = (account: number) => Promise<boolean>;

/** Load model of the callers: closed (each answer starts the next call) or open (fixed rate). */
export type LoadRun =
  | { readonly kind: 'closed'; readonly callers: number; readonly seconds: number }
  | { readonly kind: 'open'; readonly perSecond: number; readonly seconds: number };

/** Result of a load. */
export type LoadResult = {
  readonly decisions: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Number of refused decisions; expected to be 0, because the limits are unreachable. */
  readonly refused: number;
  readonly failed: number;
  /** Message of the last failure. */
  readonly failure: string | undefined;
};

/** Interval between checks for due calls of an open load, in ms: the shortest timer. */
const TICK_MS = 1;

/** Pause in ms in which pending settlements are sent, before the latencies are sorted. */
const LEFT_MS = 100;

/** Requests decisions about `accounts` accounts in turn, with the load model of `run`. */
export async function runLoad(decide: Decide, accounts: number, run: LoadRun): Promise<LoadResult> {
  const book = new Book(decide, accounts);
  const startedMs = performance.now();
  if (run.kind === 'closed') await closed(book, run);
  else await open(book, run);
  const seconds = (performance.now() - startedMs) / 1_000;
  await sleep(LEFT_MS);
  return book.result(seconds);
}

async function closed(book: Book, { callers, seconds }: LoadRun & { kind: 'closed' }) {
  const endsAtMs = performance.now() + seconds * 1_000;
  const caller = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < endsAtMs; nowMs = performance.now()) {
      await book.decide(nowMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/**
 * Open load: requests each decision when it is due. Latency counts from the due time, so that a
 * slow caller hides no latency. Stores no promises: one `Promise.all` over all would delay the
 * caller.
 */
async function open(book: Book, { perSecond, seconds }: LoadRun & { kind: 'open' }) {
  const startedMs = performance.now();
  const dueMs = (i: number) => startedMs + (i * 1_000) / perSecond;
  const count = Math.round(perSecond * seconds);
  let asked = 0;
  let ended = 0;
  await new Promise<void>((resolve, reject) => {
    const end = () => {
      ended += 1;
      if (ended === count) resolve();
    };
    const tick = () => {
      const nowMs = performance.now();
      for (; asked < count && dueMs(asked) <= nowMs; asked += 1) {
        book.decide(dueMs(asked)).then(end, reject);
      }
      if (asked < count) setTimeout(tick, TICK_MS);
    };
    tick();
  });
}

/** Requests decisions and records latencies and outcomes. */
class Book {
  readonly #decide: Decide;
  readonly #accounts: number;
  readonly #times: number[] = [];
  #account = 0;
  #refused = 0;
  #failed = 0;
  #failure: string | undefined;

  constructor(decide: Decide, accounts: number) {
    this.#decide = decide;
    this.#accounts = accounts;
  }

  /** Requests the next decision. Latency counts from `sinceMs`. Never rejects. */
  async decide(sinceMs: number): Promise<void> {
    this.#account = (this.#account + 1) % this.#accounts;
    try {
      if (!(await this.#decide(this.#account))) this.#refused += 1;
      this.#times.push(performance.now() - sinceMs);
    } catch (error) {
      this.#failed += 1;
      this.#failure = String(error);
    }
  }

  result(seconds: number): LoadResult {
    // If every decision failed, there are no latencies.
    const { p50, p99, longest } = latenciesOf(this.#times.length > 0 ? this.#times : [Number.NaN]);
    return {
      decisions: this.#times.length,
      seconds,
      p50Ms: p50,
      p99Ms: p99,
      longestMs: longest,
      refused: this.#refused,
      failed: this.#failed,
      failure: this.#failure,
    };
  }
}
