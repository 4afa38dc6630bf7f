import { type Batch, itemOf } from './batch.ts';
import type { UnacknowledgedBatch } from './buffer-types.ts';
import { timeOf } from './spacing.ts';

/** A batch as plain data. */
export function handedBack(instanceId: string, batch: Batch): UnacknowledgedBatch {
  const { idempotencyKey, observations, mayHaveHappened, sentAtMs = null } = batch;
  return { instanceId, idempotencyKey, observations, mayHaveHappened, sentAtMs };
}

/** The batch of such data, with the same key and the same body. */
export function takenBack(
  { idempotencyKey, observations, mayHaveHappened, sentAtMs }: UnacknowledgedBatch,
  ordinal: () => number,
  nowMs: number,
): Batch {
  const times = observations.map(({ timestamp = '' }) => timeOf(timestamp) ?? Number.NaN);
  const newestMs = times.filter((ms) => !Number.isNaN(ms)).at(-1);
  const items = observations.map((observation) => itemOf(observation, nowMs)(ordinal()));
  return {
    ...{ idempotencyKey, observations: items.map(({ observation }) => observation), items },
    ...{ newestMs, mayHaveHappened, sentAtMs: sentAtMs ?? undefined },
  };
}
