import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { dataOf, RenamedInstance } from '#edge/schemas/answers';
import { RenameInstance } from '#edge/schemas/instance-body';

/** Source: interface 4.1. */
export const updateInstance = endpoint({
  name: 'updateInstance',
  method: 'PATCH',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Change name or description',
  description: 'Only `name` and `description` can be changed; any other field is refused with 422.',
  scope: 'full',
  body: RenameInstance,
  response: dataOf(RenamedInstance),
  refusals: ['too_short', 'too_long'],
  isGuarded: true,
  isTagged: true,
  auditedAs: 'instance.update',
  handler: {
    kind: 'engine',
    command: ({ body: { name, description } }) => ({ kind: 'rename', name, description }),
  },
});
