import { invalid } from '#fault/fault';
import { firstMisplaced } from '#identity/observation-order';
import type { ObservationInput } from '#wire/engine-messages';

/** How far ahead of us a caller's clock may be. Source: decision 8. */
const FUTURE_MS_MAX = 300_000;

/** Throws `invalid_request` if a caller's timestamp lies too far ahead. Source: decision 8. */
export function assertNotFuture(timestampMs: number | undefined, nowMs: number, field: string) {
  if (timestampMs === undefined || timestampMs <= nowMs + FUTURE_MS_MAX) return;
  throw invalid('timestamp_in_future', field, `${field}: more than 300 s in the future`);
}

/** The same of each observation of a list. */
export function assertNoneFuture(observations: readonly ObservationInput[], nowMs: number): void {
  for (const [index, { timestampMs }] of observations.entries()) {
    assertNotFuture(timestampMs, nowMs, `observations[${index}].timestamp`);
  }
}

/**
 * Throws `invalid_request` unless all observations of a batch carry a timestamp, ascending and at
 * least 1.000 s apart, or none does. Source: decision 8.
 */
export function assertAscending(observations: readonly ObservationInput[]): void {
  const misplaced = firstMisplaced(observations.map(({ timestampMs }) => timestampMs));
  if (misplaced === undefined) return;
  const { index, reason } = misplaced;
  const field = `observations[${index}].timestamp`;
  const text =
    reason === 'timestamp_order'
      ? 'less than 1.000 s after the one before'
      : 'all observations carry one, or none';
  throw invalid(reason, field, `${field}: ${text}`);
}
