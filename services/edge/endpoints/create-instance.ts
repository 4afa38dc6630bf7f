import { endpoint } from '#edge/endpoint';
import { CreatedInstance, dataOf } from '#edge/schemas/answers';
import { CreateInstance, strengthsOf } from '#edge/schemas/instance-body';
import { ENERGY_DEFAULT } from '#identity/state';

/** Source: interface 4.1. */
export const createInstance = endpoint({
  name: 'createInstance',
  method: 'POST',
  path: '/instances',
  tag: 'Instances',
  summary: 'Create an instance',
  description:
    'Strengths that `initial_config` leaves out are 0, energy is 0.8. The answer names the new ' +
    'instance in `Location`. With an `Idempotency-Key` the id follows from the key; using the key ' +
    'again within 24 hours after its instance was deleted is 409 `deleted`.',
  scope: 'full',
  success: 201,
  body: CreateInstance,
  response: dataOf(CreatedInstance),
  refusals: [
    'missing_field',
    'out_of_range',
    'too_short',
    'too_long',
    'instance_limit',
    'deleted',
    'already_exists',
  ],
  isKeyed: true,
  isTagged: true,
  auditedAs: 'instance.create',
  handler: {
    kind: 'engine',
    command: ({ body }) => ({
      kind: 'create',
      name: body.name,
      description: body.description ?? '',
      modeStrengths: strengthsOf(body.initial_config),
      energyLevel: body.initial_config?.energy_level ?? ENERGY_DEFAULT,
    }),
  },
});
