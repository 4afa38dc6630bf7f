import { invalid } from '#fault/fault';
import { CYCLE_INTERVAL_MS_MIN } from '#identity/advance';
import type { ObservationInput } from '#wire/engine-messages';

/** How far ahead of us a caller's clock may be. Source: decision 8. */
const FUTURE_MS_MAX = 300_000;

/** Throws `invalid_request` if a caller's timestamp lies too far ahead. Source: decision 8. */
export function assertNotFuture(timestampMs: number | undefined, nowMs: number, field: string) {
  if (timestampMs === undefined || timestampMs <= nowMs + FUTURE_MS_MAX) return;
  throw invalid('timestamp_in_future', field, `${field}: more than 300 s in the future`);
}

/**
 * Throws `invalid_request` unless all observations of a batch carry a timestamp, ascending and at
 * least 1.000 s apart, or none does. Source: decision 9.
 */
export function assertAscending(observations: readonly ObservationInput[], nowMs: number): void {
  const isTimed = observations[0]?.timestampMs !== undefined;
  for (const [index, { timestampMs }] of observations.entries()) {
    const field = `observations[${index}].timestamp`;
    if ((timestampMs !== undefined) !== isTimed) {
      throw invalid('timestamps_mixed', field, `${field}: all observations carry one, or none`);
    }
    assertNotFuture(timestampMs, nowMs, field);
    const previousMs = observations[index - 1]?.timestampMs;
    if (timestampMs === undefined || previousMs === undefined) continue;
    if (timestampMs < previousMs + CYCLE_INTERVAL_MS_MIN) {
      throw invalid('timestamp_order', field, `${field}: less than 1.000 s after the one before`);
    }
  }
}
