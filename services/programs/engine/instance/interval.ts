import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';
import type { Clock, Instant } from '#stdlib/clock';

/** Inputs of the interval rule. Times in Unix milliseconds. */
export type IntervalBasis = {
  /** Time of the last accepted observation of this generation; undefined if there is none. */
  readonly observedAtMs: number | undefined;
  /** Time of the wall clock. */
  readonly nowMs: number;
  /** Time of a clock that never steps back, from `presentOf`. */
  readonly presentMs: number;
};

/** Time of the first observation, or that the observations came too early. */
export type Timing =
  | { readonly kind: 'accepted'; readonly firstMs: number }
  | { readonly kind: 'throttled'; readonly retryAfterS: number };

/**
 * Present time by a wall clock that never steps back. The monotonic time since the anchor is the
 * minimum advance. Source: decision 152.
 */
export function presentOf(anchor: Instant, now: Instant): number {
  return Math.max(now.wallMs, anchor.wallMs + now.monotonicMs - anchor.monotonicMs);
}

/**
 * Time of the first of `count` observations in one call.
 *
 * `callerMs` is the caller's timestamp of the first observation; if it is set, the others have
 * timestamps too. Without timestamps the observations are one second apart and end now, if there is
 * room after the previous observation. Source: decisions 1 and 8.
 */
export function timingOf(
  callerMs: number | undefined,
  count: number,
  basis: IntervalBasis,
): Timing {
  const earliestMs =
    basis.observedAtMs === undefined ? undefined : basis.observedAtMs + CYCLE_INTERVAL_MS_MIN;
  const firstMs = callerMs ?? stampOf(basis, earliestMs);
  if (earliestMs !== undefined && firstMs < earliestMs) {
    return {
      kind: 'throttled',
      retryAfterS: Math.max(1, Math.ceil((earliestMs - firstMs) / 1_000)),
    };
  }
  if (callerMs !== undefined || count === 1) return { kind: 'accepted', firstMs };
  const spreadMs = firstMs - (count - 1) * CYCLE_INTERVAL_MS_MIN;
  return { kind: 'accepted', firstMs: Math.max(earliestMs ?? spreadMs, spreadMs) };
}

/**
 * Timestamp from the engine's clock.
 *
 * The wall clock may be before the earliest allowed time although that time has passed: it stepped
 * back, or a former owner's clock was ahead. The timestamp is then the earliest allowed time, so
 * that the instance does not freeze. If the previous observation lies ahead for another reason,
 * such as a spread batch or a caller's timestamp, the call is throttled. Source: decision 152.
 */
function stampOf({ nowMs, presentMs }: IntervalBasis, earliestMs: number | undefined): number {
  if (earliestMs === undefined || nowMs >= earliestMs) return nowMs;
  return Math.min(presentMs, earliestMs);
}

/** Number of steps per timed step. Reading the clock twice costs a twentieth of a step. */
const STEPS_PER_SAMPLE = 64;

/** Times one model step in 64, including the first. */
export class StepTimer {
  readonly #clock: Clock;
  readonly #observe: (seconds: number) => void;
  #stepsLeft = 0;

  constructor(clock: Clock, observe: (seconds: number) => void) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /**
   * Call before a step. Returns the start in milliseconds (monotonic), or undefined if the step is
   * not timed.
   */
  start(): number | undefined {
    if (this.#stepsLeft > 0) {
      this.#stepsLeft -= 1;
      return undefined;
    }
    this.#stepsLeft = STEPS_PER_SAMPLE - 1;
    return this.#clock.monotonicMs();
  }

  /** Call after a step, with the result of `start`. */
  stop(startedMs: number | undefined): void {
    if (startedMs === undefined) return;
    this.#observe((this.#clock.monotonicMs() - startedMs) / 1_000);
  }
}
