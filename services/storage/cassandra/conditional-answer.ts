import type { types } from 'cassandra-driver';
import { Fault } from '#fault/fault';

/** What a conditional statement did; a refusal shows the columns of its condition, if there is a row. */
export type ConditionalAnswer =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly row: types.Row | undefined };

/**
 * Reads the answer of a conditional statement from its `[applied]` column: the driver's
 * `wasApplied()` is also true of an answer without rows. Throws `service_unavailable` with
 * `isOutcomeUnknown` when the column is missing.
 */
export function conditionalAnswerOf(result: types.ResultSet): ConditionalAnswer {
  const row = result.rows[0];
  const isApplied: unknown = row?.['[applied]'];
  if (isApplied === true) return { isApplied };
  if (isApplied === false) {
    return { isApplied, row: result.columns.length > 1 ? row : undefined };
  }
  throw new Fault('service_unavailable', 'the store does not say what it did', {
    isOutcomeUnknown: true,
  });
}
