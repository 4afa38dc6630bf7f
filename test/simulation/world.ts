import { Trace } from '#test/simulation/checks/trace';
import { EventQueue } from '#test/simulation/event-queue';
import { SeededRandom } from '#test/simulation/seeded-random';

/** Default start of a simulation, in Unix milliseconds. */
export const WORLD_START_MS = Date.UTC(2026, 0, 15, 12);

/** Times are whole ticks of about 1 µs, so that sums are exact and timers end on time. */
const TICKS_PER_MS = 1_024;

/**
 * A simulation: true time, random numbers and scheduled events. Time jumps to the next event when
 * all promises of the current event have settled. Equal seeds give equal runs, byte for byte.
 */
export class World {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly trace: Trace;
  /** Start of the simulation in Unix milliseconds. */
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

  /** True time since the start, in milliseconds. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Number of events that have run. */
  get eventCount(): number {
    return this.#eventCount;
  }

  /** True time in Unix milliseconds. */
  wallMs(): number {
    return this.startMs + this.#nowMs;
  }

  /** Runs `task` after `delayMs` of true time. Disposing the result cancels the task. */
  after(delayMs: number, task: () => void): Disposable {
    const ticks = Math.ceil(Math.max(0, delayMs) * TICKS_PER_MS);
    const event = this.#events.add(this.#nowMs + ticks / TICKS_PER_MS, task);
    return { [Symbol.dispose]: () => this.#events.cancel(event) };
  }

  /** Resolves after `delayMs` of true time. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** Adds a trace line, which is part of the trace hash. */
  note(text: string): void {
    this.trace.add(this.#nowMs, text);
  }

  /** Ends the run with an error. Later errors are ignored. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Runs events until `until` resolves. Rejects with the first error, or if no event is left. */
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
    if (settled === undefined) throw new Error('the simulation has halted: no event is scheduled');
    return settled.value;
  }
}

/**
 * Runs `step` when no microtask is left. Node empties the microtask queue before the next tick, so
 * that a tick requested in a microtask runs after all microtasks. `setImmediate` costs a hundred
 * times more.
 */
function afterMicrotasks(step: () => void): void {
  queueMicrotask(() => process.nextTick(step));
}
