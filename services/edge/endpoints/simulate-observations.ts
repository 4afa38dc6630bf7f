import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { HTTP_LIMITS } from '#edge/http-limits';
import { dataOf, Simulated } from '#edge/schemas/answers';
import {
  OBSERVATIONS_REFUSALS,
  observationInput,
  Simulation,
} from '#edge/schemas/observation-body';
import { assertAscending, assertNoneFuture } from '#edge/timestamp-rules';

/** `POST /instances/{id}/simulate`. */
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
