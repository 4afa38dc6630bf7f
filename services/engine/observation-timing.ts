import { CYCLE_INTERVAL_MS_MIN } from '#identity/cycle-interval';

/** What the interval rule knows of an instance and of now. Times in milliseconds. */
export type IntervalBasis = {
  /** Time of the last accepted observation of this generation; undefined: there is none. */
  readonly observedAtMs: number | undefined;
  /** Monotonic time at which it was accepted; undefined: not since the actor came to memory. */
  readonly acceptedMonotonicMs: number | undefined;
  readonly nowMs: number;
  readonly monotonicMs: number;
};

/** When observations took place, or that they came too early. */
export type Timing =
  | { readonly kind: 'accepted'; readonly firstMs: number }
  | { readonly kind: 'throttled'; readonly retryAfterS: number };

/**
 * The time of the first of `count` observations that came together. `callerMs` is the caller's own
 * timestamp of the first one, if it gave any; then the others have theirs too. Without timestamps
 * the others follow at one second each, ending now where there is room. Source: decisions 1, 8, 9.
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
 * The engine's own stamp. A wall clock that stands before the earliest allowed time although a
 * second has really passed (it stepped back, or a former owner's was ahead) freezes no instance:
 * then the stamp is that earliest time. Source: decision 33.
 */
function stampOf(basis: IntervalBasis, earliestMs: number | undefined): number {
  const { nowMs, monotonicMs, acceptedMonotonicMs } = basis;
  if (earliestMs === undefined || nowMs >= earliestMs) return nowMs;
  const elapsedMs = monotonicMs - (acceptedMonotonicMs ?? Number.NEGATIVE_INFINITY);
  return elapsedMs >= CYCLE_INTERVAL_MS_MIN ? earliestMs : nowMs;
}
