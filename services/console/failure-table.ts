import { putNewest } from '#platform/put-newest';

/** When tries that failed make the next one wait, and for how long. */
export type FailureLimits = {
  /** Failures before anything waits. */
  readonly free: number;
  /** The longest wait, in milliseconds; the first is a second, and each further one twice as long. */
  readonly waitMsMax: number;
};

/** The first wait, in milliseconds. */
const FIRST_WAIT_MS = 1_000;

/** How long failures count after the last one, in milliseconds. */
const REMEMBERED_MS = 60 * 60_000;

/** Sources remembered; the oldest is forgotten first. */
const SOURCES_MAX = 10_000;

type Failures = { readonly count: number; readonly lastMs: number };

/** Failures by source, in bounded memory. Times are monotonic. Source: decision 246. */
export class FailureTable {
  readonly #limits: FailureLimits;
  readonly #failures = new Map<string, Failures>();

  constructor(limits: FailureLimits) {
    this.#limits = limits;
  }

  /** Milliseconds until the source may try again; 0: now. */
  waitMs(source: string, nowMs: number): number {
    const { count, lastMs } = this.#of(source, nowMs);
    const { free, waitMsMax } = this.#limits;
    if (count < free) return 0;
    const spanMs = Math.min(waitMsMax, FIRST_WAIT_MS * 2 ** (count - free));
    return Math.max(0, lastMs + spanMs - nowMs);
  }

  /** Counts a failure. */
  count(source: string, nowMs: number): void {
    const { count } = this.#of(source, nowMs);
    putNewest(this.#failures, source, { count: count + 1, lastMs: nowMs }, SOURCES_MAX);
  }

  /** Takes one failure back. */
  forgive(source: string, nowMs: number): void {
    const { count, lastMs } = this.#of(source, nowMs);
    if (count > 1) this.#failures.set(source, { count: count - 1, lastMs });
    else this.#failures.delete(source);
  }

  /** Forgets a source. */
  clear(source: string): void {
    this.#failures.delete(source);
  }

  #of(source: string, nowMs: number): Failures {
    const known = this.#failures.get(source);
    const isRemembered = known !== undefined && nowMs - known.lastMs < REMEMBERED_MS;
    return isRemembered ? known : { count: 0, lastMs: nowMs };
  }
}
