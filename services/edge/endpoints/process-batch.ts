import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { HTTP_LIMITS } from '#edge/http-limits';
import { dataOf, ProcessedBatch } from '#edge/schemas/answers';
import {
  Batch,
  itemKeysOf,
  OBSERVATIONS_REFUSALS,
  observationInput,
} from '#edge/schemas/observation-body';
import { assertAscending, assertNoneFuture } from '#edge/timestamp-rules';

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
      // With keys of items the engine checks the order: it does not hold for replayed ones.
      if (itemKeys === undefined) assertAscending(observations);
      const isEveryStateWanted = body.include_intermediate ?? false;
      return { kind: 'process', observations, isBatch: true, isEveryStateWanted, itemKeys };
    },
  },
});
