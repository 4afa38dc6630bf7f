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
    '`X-Throttled: true` and `Retry-After`, or 429 with `Prefer: handling=strict`. Send ' +
    '`timestamp` to be measured by your own clock. A `timestamp` may lie in the past, even before ' +
    'the instance was created, and at most 300 s in the future.',
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
    '1 to 100 observations, at most 256 KiB, checked as a whole, applied as one unit: all or ' +
    'nothing. Costs one request and one cycle for each observation. Either all carry `timestamp`, ' +
    'ascending and at least 1.000 s apart, or none does; then they are spaced 1 s, ending now ' +
    'where there is room. If the first comes too early, the whole batch is throttled: 200 with ' +
    '`processed_count: 0`, or 429 with `Prefer: handling=strict`. `include_intermediate` answers ' +
    'every state in `states`.\n\n' +
    'An observation may carry `idempotency_key`. One whose key was used before, in a batch or as the ' +
    '`Idempotency-Key` of a single call on the instance, is not applied again and costs no cycle. ' +
    '`results` then says of each item whether it was `applied`, `replayed` or `throttled`. If all ' +
    'were replayed, the answer has `Idempotent-Replayed: true` and the present state.',
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
  summary: 'What up to 20 observations would do, without doing it',
  description:
    '1 to 20 observations are applied in order to a copy of the instance, which is thrown away: nothing ' +
    'of the instance changes, now or later, and no cycle is charged. Answers the state after each of ' +
    'them in `states`; `ETag` is that of the instance, which is what they began with. Either all carry ' +
    '`timestamp`, under the rules of a batch, or none does: then they follow each other at 1.000 s, the ' +
    'first as soon as the instance takes one. A first `timestamp` less than 1.000 s after the newest ' +
    'observation of the instance is refused. Costs one request.',
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
      ? 'less than 1.000 s after the one before'
      : 'all observations carry one, or none';
  throw invalid(reason, field, `${field}: ${text}`);
}
