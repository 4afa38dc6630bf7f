import { endpoint, INSTANCE_ID } from '#edge/endpoints/endpoint';
import { dataOf, ForkedInstance, PastStates } from '#edge/schemas/answers';
import { ForkInstance, StatesQuery, tagFieldsOf } from '#edge/schemas/instance';
import { invalid } from '#errors/fault';
import { MODE_KEYS } from '#identity/modes';

/** Endpoint `GET /instances/{id}/states`. Source: interface 4.2, decision 318. */
export const getStates = endpoint({
  name: 'getStates',
  method: 'GET',
  path: '/instances/:id/states',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Get past states',
  description:
    'Snapshot, contract and drift of past cycles, as the answers to their observations had them. ' +
    'With `cycles`, the states at 1 to 10 cycles, in the given order. Otherwise at most `points` ' +
    'stored states in even steps, oldest first: the service stores a state every 256 ' +
    'observations, at each reset and when the model changes. The present state is the last ' +
    'point. A cycle number counts within a generation; by default, the present generation.',
  scope: 'read',
  query: StatesQuery,
  response: dataOf(PastStates),
  refusals: ['unknown_cycle', 'cycle_trimmed', 'state_not_stored', 'replay_mismatch'],
  examples: [
    { summary: 'the states after two cycles, with ?cycles=2,4', query: '?cycles=2,4' },
    { summary: 'stored states', query: '?points=10' },
  ],
  handler: {
    kind: 'engine',
    command: ({ query: { cycles = [], points, generation }, named }) => {
      if (named.has('cycles') && named.has('points')) {
        const text = 'cycles: cannot be combined with points; send only one';
        throw invalid('invalid_parameter', 'cycles', text);
      }
      return { kind: 'readStates', generation, cycles, points: cycles.length > 0 ? 0 : points };
    },
  },
});

/** Endpoint `POST /instances/{id}/fork`. Source: interface 4.2, decision 318. */
export const forkInstance = endpoint({
  name: 'forkInstance',
  method: 'POST',
  path: '/instances/:id/fork',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Create an instance in a past state of another',
  description:
    'Creates a new instance in the state after `cycle` of this instance. The same observations ' +
    'then lead both instances to the same states. The new instance counts towards the limit of ' +
    'the plan, and has its own name, history and generation 1, which begins at `cycle`. It has ' +
    'the tags of this instance, unless `tags` is given. This instance does not change. Costs one ' +
    'request and no cycle. `Idempotency-Key` works as for `POST /instances`.',
  scope: 'full',
  success: 201,
  body: ForkInstance,
  response: dataOf(ForkedInstance),
  refusals: [
    'missing_field',
    'out_of_range',
    'too_short',
    'too_long',
    'unknown_cycle',
    'cycle_trimmed',
    'state_not_stored',
    'replay_mismatch',
    'instance_limit',
    'deleted',
    'already_exists',
  ],
  isKeyed: true,
  isTagged: true,
  auditedAs: 'instance.fork',
  handler: {
    kind: 'engine',
    command: ({ body: { name, description = '', tags, cycle, generation } }) => {
      // The start of the fork replaces strengths and energy.
      const none = { modeStrengths: MODE_KEYS.map(() => 0), energyLevel: 0 };
      const texts = { name, description, ...tagFieldsOf(tags) };
      return { kind: 'create', ...texts, ...none, fork: { cycle, generation } };
    },
  },
});
