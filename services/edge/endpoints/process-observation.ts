import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { dataOf, Processed } from '#edge/schemas/answers';
import { Observation, observationInput } from '#edge/schemas/observation-body';
import { assertNotFuture } from '#edge/timestamp-rules';

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
