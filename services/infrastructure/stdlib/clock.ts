/** Time as a port, so that a process can run with a simulated clock. Source: architecture 7. */
export interface Clock {
  /** Unix time in milliseconds; may step in either direction. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start; never steps back. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`, unless disposed before. Does not keep the process alive. */
  after(delayMs: number, task: () => void): Disposable;
}

/** Clock of the machine. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Fulfils after `delayMs`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}

/** Long work in slices, between which other work of the process runs. */
export class TimeSlices {
  readonly #clock: Clock;
  readonly #sliceMs: number;
  #startMs: number;

  /** The first slice of `sliceMs` milliseconds begins now. */
  constructor(clock: Clock, sliceMs: number) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
    this.#startMs = clock.monotonicMs();
  }

  /** Lets other work run if the slice is over. */
  async next(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#startMs < this.#sliceMs) return;
    await sleep(this.#clock, 0);
    this.#startMs = this.#clock.monotonicMs();
  }
}

/**
 * Runs `task` every `periodMs` until disposed. A slow task delays the next run, so that runs never
 * overlap.
 */
export function every(clock: Clock, periodMs: number, task: () => void): Disposable {
  let pending = clock.after(periodMs, run);
  function run(): void {
    task();
    pending = clock.after(periodMs, run);
  }
  return { [Symbol.dispose]: () => pending[Symbol.dispose]() };
}

/**
 * Settles like `pending`, or rejects with `late()` after `timeoutMs`. `pending` itself is not
 * cancelled.
 */
export async function withinMs<Value>(
  clock: Clock,
  timeoutMs: number,
  pending: Promise<Value>,
  late = () => new Error(`no answer in ${timeoutMs} ms`),
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _timer = clock.after(timeoutMs, () => reject(late()));
  return await Promise.race([pending, promise]);
}

/**
 * Formats Unix milliseconds as in responses: ISO 8601 in UTC, with milliseconds (interface 2.1).
 */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/**
 * Time by both clocks, in milliseconds. The wall clock may step, the monotonic clock never goes
 * back.
 */
export type Instant = { readonly wallMs: number; readonly monotonicMs: number };

/** Current time by both clocks. */
export function instantOf(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>): Instant {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

/**
 * Rate limit of `max` permits per second. The caller must drop a call for which no permit is left.
 */
export class PerSecond {
  readonly #clock: Clock;
  readonly #max: number;
  #left = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Takes a permit. Returns false if no permit is left in this second. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + 1_000;
      this.#left = this.#max;
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * Clock readings of this and other processes. Each number is a wall clock minus this process's
 * monotonic clock at the same moment, in milliseconds. The number is constant until a clock steps.
 */
type ClockEvidence = {
  readonly own: number;
  /** Readings of the other processes heard recently. */
  readonly others: readonly number[];
};

/**
 * Verdict on this process's wall clock. `deviating`: far from most others. `unsure`: fewer than two
 * others were heard, or the contradicting clocks do not outnumber the agreeing clocks.
 */
export type ClockVerdict = 'agreed' | 'deviating' | 'unsure';

/** Verdict, and the lead of the own clock over the median of the others, in milliseconds. */
export type ClockAgreement = { readonly verdict: ClockVerdict; readonly aheadMs: number };

/** Maximum difference between agreeing clocks, in milliseconds. Source: decision 138. */
const APART_MS_MAX = 60_000;

/** Minimum number of other clocks. With fewer clocks it is undecidable which clock is wrong. */
export const OTHERS_MIN = 2;

/** Whether two clocks agree. */
export function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= APART_MS_MAX;
}

/**
 * Compares the own clock with the median of the others. For an even number of others, the nearer of
 * the two middle clocks is used as the median, so that one wrong clock among three does not
 * discredit a right clock. The own clock deviates only if more clocks agree with the median than
 * with the own clock. Therefore at least one clock does not deviate.
 */
export function judgeClock({ own, others }: ClockEvidence): ClockAgreement {
  if (others.length < OTHERS_MIN) return { verdict: 'unsure', aheadMs: 0 };
  const ascending = others.toSorted((a, b) => a - b);
  const low = own - (ascending[Math.floor((ascending.length - 1) / 2)] ?? own);
  const high = own - (ascending[Math.floor(ascending.length / 2)] ?? own);
  const aheadMs = Math.abs(low) <= Math.abs(high) ? low : high;
  const median = own - aheadMs;
  if (isNear(own, median)) return { verdict: 'agreed', aheadMs };
  const against = ascending.filter((other) => isNear(median, other));
  const withUs = 1 + ascending.filter((other) => isNear(own, other)).length;
  return { verdict: against.length > withUs ? 'deviating' : 'unsure', aheadMs };
}
