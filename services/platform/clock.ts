/** Time as a port, so that a whole process can run under a simulated clock. Source: architecture 7. */
export interface Clock {
  /** Unix time in milliseconds; may step either way. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start; never steps back. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`, unless disposed before. Does not keep the process alive. */
  after(delayMs: number, task: () => void): Disposable;
}

/** The machine's clock. */
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

/** Runs `task` every `periodMs` until disposed; a slow task delays its successor instead of piling up. */
export function every(clock: Clock, periodMs: number, task: () => void): Disposable {
  let pending = clock.after(periodMs, run);
  function run(): void {
    task();
    pending = clock.after(periodMs, run);
  }
  return { [Symbol.dispose]: () => pending[Symbol.dispose]() };
}

/** What `pending` becomes, or `late` as a rejection after `timeoutMs`; `pending` goes on. */
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

/** A time in Unix milliseconds as answers write it: ISO 8601 in UTC, with milliseconds (interface 2.1). */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** A time by both clocks, in milliseconds: the wall clock may step, the monotonic one only runs on. */
export type Instant = { readonly wallMs: number; readonly monotonicMs: number };

/** The time now by both clocks. */
export function instantOf(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>): Instant {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

/** Bounds how often something happens in a second: beyond `max` it is left out. */
export class PerSecond {
  readonly #clock: Clock;
  readonly #max: number;
  #left = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Whether it may happen once more; asking counts. */
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
 * What the clocks of the processes say. Each number is a wall clock less this process's monotonic
 * one at the same moment, in milliseconds: it stays the same until a clock steps.
 */
type ClockEvidence = {
  readonly own: number;
  /** Of every other process that was heard just now. */
  readonly others: readonly number[];
};

/**
 * Whether this process's wall clock can be trusted: `deviating` if it is far from the others',
 * `unsure` if fewer than two others were heard, or those that contradict it do not outnumber those
 * that agree with it.
 */
export type ClockVerdict = 'agreed' | 'deviating' | 'unsure';

/** A verdict, and how far the own clock is ahead of the median of the others, in milliseconds. */
export type ClockAgreement = { readonly verdict: ClockVerdict; readonly aheadMs: number };

/** How far clocks that agree may stand apart, in milliseconds. Source: decision 138. */
const APART_MS_MAX = 60_000;

/** With fewer others it cannot be decided whose clock is wrong. */
export const OTHERS_MIN = 2;

/** Whether two clocks agree. */
export function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= APART_MS_MAX;
}

/**
 * Compares the own clock with the median of the others. Of an even number the nearer of the two in
 * the middle counts: of three clocks one that is wrong must not make a right one doubt itself. A
 * clock deviates only if more agree with that median than with it, so that never all do.
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
