import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';
import type { Clock, Instant } from '#platform/clock';

/** What the interval rule knows of an instance and of now. Times in Unix milliseconds. */
export type IntervalBasis = {
  /** Time of the last accepted observation of this generation; undefined: there is none. */
  readonly observedAtMs: number | undefined;
  /** What the wall clock says. */
  readonly nowMs: number;
  /** What it says at the least if it has not stepped back: `presentOf`. */
  readonly presentMs: number;
};

/** When observations took place, or that they came too early. */
export type Timing =
  | { readonly kind: 'accepted'; readonly firstMs: number }
  | { readonly kind: 'throttled'; readonly retryAfterS: number };

/**
 * The time now by a wall clock that never steps back: what has passed by the monotonic clock since
 * the anchor has passed. Source: decision 152.
 */
export function presentOf(anchor: Instant, now: Instant): number {
  return Math.max(now.wallMs, anchor.wallMs + now.monotonicMs - anchor.monotonicMs);
}

/**
 * The time of the first of `count` observations that came together. `callerMs` is the caller's own
 * timestamp of the first one, if it gave any; then the others have theirs too. Without timestamps
 * the others follow at one second each, ending now where there is room. Source: decisions 1 and 8.
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
 * The engine's own stamp: now. A wall clock that stands before the earliest allowed time although
 * that time has come (it stepped back, or a former owner's was ahead) freezes no instance: then the
 * stamp is that earliest time. A previous observation that lies ahead for another reason, because
 * its batch was spread or its caller said so, is waited for. Source: decision 152.
 */
function stampOf({ nowMs, presentMs }: IntervalBasis, earliestMs: number | undefined): number {
  if (earliestMs === undefined || nowMs >= earliestMs) return nowMs;
  return Math.min(presentMs, earliestMs);
}

/** Steps between two that are timed: looking at the clock twice costs a twentieth of a step. */
const STEPS_PER_SAMPLE = 64;

/** Times one model step in 64, the first included. */
export class StepTimer {
  readonly #clock: Clock;
  readonly #observe: (seconds: number) => void;
  #stepsLeft = 0;

  constructor(clock: Clock, observe: (seconds: number) => void) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /** Before a step: when it began, in milliseconds, or undefined if this one is not timed. */
  start(): number | undefined {
    if (this.#stepsLeft > 0) {
      this.#stepsLeft -= 1;
      return undefined;
    }
    this.#stepsLeft = STEPS_PER_SAMPLE - 1;
    return this.#clock.monotonicMs();
  }

  /** After a step, with what `start` said. */
  stop(startedMs: number | undefined): void {
    if (startedMs === undefined) return;
    this.#observe((this.#clock.monotonicMs() - startedMs) / 1_000);
  }
}
