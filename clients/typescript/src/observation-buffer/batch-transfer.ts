import { type Batch, itemOf } from './batch.ts';
import type { Moment } from './buffer-clock.ts';
import type { UnacknowledgedBatch } from './buffer-types.ts';
import { timeOf } from './spacing.ts';

/** Converts a batch to plain data for the caller. */
export function handedBack(instanceId: string, batch: Batch): UnacknowledgedBatch {
  const { idempotencyKey, items, observations, mayHaveHappened, sentAtMs = null } = batch;
  const timestampsFrom = items.map(({ timestampFrom }) => timestampFrom);
  const facts = { mayHaveHappened, sentAtMs, timestampsFrom };
  return { instanceId, idempotencyKey, observations, ...facts };
}

/**
 * Restores a batch from plain data with the same keys and the same body, even if a store has
 * reordered object keys.
 */
export function takenBack(
  { idempotencyKey, observations, mayHaveHappened, sentAtMs, timestampsFrom }: UnacknowledgedBatch,
  ordinal: () => number,
  now: Moment,
): Batch {
  const times = observations.map(({ timestamp = '' }) => timeOf(timestamp) ?? Number.NaN);
  const newestMs = times.filter((ms) => !Number.isNaN(ms)).at(-1);
  const items = observations.map((observation, index) => {
    const item = itemOf(observation, now)(ordinal());
    return { ...item, timestampFrom: timestampsFrom?.[index] ?? item.timestampFrom };
  });
  return {
    ...{ idempotencyKey, observations: items.map(({ observation }) => observation), items },
    ...{ newestMs, mayHaveHappened, sentAtMs: sentAtMs ?? undefined, isLeft: false },
  };
}
