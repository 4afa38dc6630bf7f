import { EventQueue } from '#test/simulation/event-queue';
import { SeededRandom } from '#test/simulation/seeded-random';
import { Trace } from '#test/simulation/trace';

/** Unix time at which a world begins unless asked otherwise, in milliseconds. */
export const WORLD_START_MS = Date.UTC(2026, 0, 15, 12);

/** Times are whole ticks of about a microsecond: sums of them are exact, so that waits really end. */
const TICKS_PER_MS = 1_024;

/**
 * One simulated world: true time, chance, and what will happen next. Nothing in it waits for the
 * machine: when an event has run and every promise that it settled has had its say, the next event
 * is due at once, however many virtual seconds later. Same seed, same history, byte for byte.
 */
export class World {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly trace: Trace;
  /** Unix time at which it begins, in milliseconds. */
  startMs = WORLD_START_MS;
  readonly #events = new EventQueue();
  #nowMs = 0;
  #eventCount = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(seed: number, trace = new Trace()) {
    this.seed = seed;
    this.random = new SeededRandom(seed);
    this.trace = trace;
  }

  /** True time in milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** How many events have run. */
  get eventCount(): number {
    return this.#eventCount;
  }

  /** True time as Unix milliseconds: what a perfect clock would show. */
  wallMs(): number {
    return this.startMs + this.#nowMs;
  }

  /** Runs `task` after `delayMs` of true time, unless disposed before. */
  after(delayMs: number, task: () => void): Disposable {
    const ticks = Math.ceil(Math.max(0, delayMs) * TICKS_PER_MS);
    const event = this.#events.add(this.#nowMs + ticks / TICKS_PER_MS, task);
    return { [Symbol.dispose]: () => this.#events.cancel(event) };
  }

  /** Fulfils after `delayMs` of true time. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** Notes what happens, for the hash that proves a replay and for the analysis of a failure. */
  note(text: string): void {
    this.trace.add(this.#nowMs, text);
  }

  /** Ends the run with an error: the first one counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Runs events until `until` fulfils. Rejects with what failed, or when nothing is left to happen. */
  async run<Result>(until: Promise<Result>): Promise<Result> {
    let settled: { readonly value: Result } | undefined;
    until.then(
      (value) => {
        settled = { value };
      },
      (error: unknown) => this.fail(error),
    );
    await new Promise<void>((resolve) => {
      const step = (): void => {
        const event =
          settled === undefined && this.#failure === undefined ? this.#events.next() : undefined;
        if (event === undefined) {
          resolve();
          return;
        }
        this.#nowMs = event.atMs;
        this.#eventCount += 1;
        try {
          event.task();
        } catch (error) {
          this.fail(error);
        }
        afterMicrotasks(step);
      };
      afterMicrotasks(step);
    });
    if (this.#failure !== undefined) throw this.#failure.error;
    if (settled === undefined) throw new Error('the world has halted: nothing is left to happen');
    return settled.value;
  }
}

/**
 * Runs `step` when no microtask is left. Node empties the microtask queue whole before it looks at
 * the next tick, so a tick asked for from within a microtask comes after all of them, at a
 * hundredth of the price of a `setImmediate`.
 */
function afterMicrotasks(step: () => void): void {
  queueMicrotask(() => process.nextTick(step));
}
