import { endpoint, INSTANCE_ID } from '#edge/endpoints/endpoint';
import { HTTP_LIMITS } from '#edge/http';
import { dataOf, Processed, ProcessedBatch, Simulated } from '#edge/schemas/answers';
import {
  Batch,
  itemKeysOf,
  OBSERVATIONS_REFUSALS,
  Observation,
  observationInput,
  Simulation,
} from '#edge/schemas/observation';
import { invalid } from '#errors/fault';
import type { ObservationInput } from '#grpc/engine-messages';
import { firstMisplaced } from '#identity/observation-order';

/** Source: interface 4.2. */
export const processObservation = endpoint({
  name: 'processObservation',
  method: 'POST',
  path: '/instances/:id/process',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Process one observation: one cycle',
  description:
    'Advances the instance by one cycle and bills it. An observation less than 1.000 s after the ' +
    'previous one changes nothing and costs nothing: the answer is 200 with the previous state, ' +
    '`X-Throttled: true` and `Retry-After`, or 429 with `Prefer: handling=strict`. With ' +
    '`timestamp`, your own clock measures the distance. A `timestamp` may be in the past, even ' +
    'before the creation of the instance, and at most 300 s in the future.',
  scope: 'full',
  cycles: () => 1,
  body: Observation,
  response: dataOf(Processed),
  refusals: [
    'missing_field',
    'out_of_range',
    'unknown_value',
    'too_long',
    'invalid_timestamp',
    'timestamp_in_future',
  ],
  isKeyed: true,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, nowMs }) => {
      assertNotFuture(body.timestamp, nowMs, 'timestamp');
      const observations = [observationInput(body)];
      return { kind: 'process', observations, isBatch: false, isEveryStateWanted: false };
    },
  },
});

/** Source: interface 4.2. */
export const processBatch = endpoint({
  name: 'processBatch',
  method: 'POST',
  path: '/instances/:id/process/batch',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Process up to 100 observations in order, as one unit',
  description:
    '1 to 100 observations, at most 256 KiB, checked and applied as one unit: all or nothing. ' +
    'Costs one request, and one cycle for each observation. Either all observations have a ' +
    '`timestamp`, ascending and at least 1.000 s apart, or none has. Without timestamps, the ' +
    'observations are spaced 1 s apart, and the last is now if the previous observation is early ' +
    'enough. If the first observation is too early, the whole batch is throttled: 200 with ' +
    '`processed_count: 0`, or 429 with `Prefer: handling=strict`. With `include_intermediate`, ' +
    '`states` has the state after each observation.\n\n' +
    'An observation may have an `idempotency_key`. If the key was used before on the instance, ' +
    'in a batch or as the `Idempotency-Key` of a single call, the observation is not applied ' +
    'again and costs no cycle. `results` then has the outcome of each item: `applied`, ' +
    '`replayed` or `throttled`. If all items were replayed, the answer has `Idempotent-Replayed: ' +
    'true` and the current state.',
  scope: 'full',
  cycles: ({ body }) => body.observations.length,
  bodyBytesMax: HTTP_LIMITS.bodyLimit,
  body: Batch,
  response: dataOf(ProcessedBatch),
  refusals: OBSERVATIONS_REFUSALS,
  isKeyed: true,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, url, nowMs }) => {
      const observations = body.observations.map(observationInput);
      const itemKeys = itemKeysOf(body.observations, url);
      assertNoneFuture(observations, nowMs);
      // If items have keys, the engine checks the order, because replayed items are exempt.
      if (itemKeys === undefined) assertAscending(observations);
      const isEveryStateWanted = body.include_intermediate ?? false;
      return { kind: 'process', observations, isBatch: true, isEveryStateWanted, itemKeys };
    },
  },
});

/** Endpoint `POST /instances/{id}/simulate`. */
export const simulateObservations = endpoint({
  name: 'simulateObservations',
  method: 'POST',
  path: '/instances/:id/simulate',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Preview up to 20 observations on a copy',
  description:
    'Applies 1 to 20 observations in order to a copy of the instance, and discards the copy. The ' +
    'instance does not change, and no cycle is charged. `states` has the state after each ' +
    'observation; `ETag` is the version of the instance that was copied. Either all observations ' +
    'have a `timestamp`, under the rules of a batch, or none has. Without timestamps, the ' +
    'observations are 1.000 s apart, and the first is at the earliest time that is not ' +
    'throttled. A first `timestamp` less than 1.000 s after the newest observation of the ' +
    'instance is refused. Costs one request.',
  scope: 'read',
  bodyBytesMax: HTTP_LIMITS.bodyLimit,
  body: Simulation,
  response: dataOf(Simulated),
  refusals: OBSERVATIONS_REFUSALS,
  isTagged: true,
  handler: {
    kind: 'engine',
    command: ({ body, nowMs }) => {
      const observations = body.observations.map(observationInput);
      assertNoneFuture(observations, nowMs);
      assertAscending(observations);
      return { kind: 'simulate', observations };
    },
  },
});

/** Maximum lead of a caller's clock over the server clock, in milliseconds. Source: decision 8. */
const FUTURE_MS_MAX = 300_000;

/**
 * Throws `timestamp_in_future` if a timestamp is more than `FUTURE_MS_MAX` ahead. Source: decision
 * 8.
 */
function assertNotFuture(timestampMs: number | undefined, nowMs: number, field: string) {
  if (timestampMs === undefined || timestampMs <= nowMs + FUTURE_MS_MAX) return;
  throw invalid('timestamp_in_future', field, `${field}: more than 300 s in the future`);
}

/** Applies `assertNotFuture` to each observation of a list. */
function assertNoneFuture(observations: readonly ObservationInput[], nowMs: number): void {
  for (const [index, { timestampMs }] of observations.entries()) {
    assertNotFuture(timestampMs, nowMs, `observations[${index}].timestamp`);
  }
}

/**
 * Throws `invalid_request` unless all or no observations of a batch carry a timestamp. Timestamps
 * must ascend by at least 1.000 s. Source: decision 8.
 */
function assertAscending(observations: readonly ObservationInput[]): void {
  const misplaced = firstMisplaced(observations.map(({ timestampMs }) => timestampMs));
  if (misplaced === undefined) return;
  const { index, reason } = misplaced;
  const field = `observations[${index}].timestamp`;
  const text =
    reason === 'timestamp_order'
      ? 'less than 1.000 s after the previous observation'
      : 'either all observations have a timestamp, or none';
  throw invalid(reason, field, `${field}: ${text}`);
}
