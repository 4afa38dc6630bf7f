import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { dataOf, RemovedInstance } from '#edge/schemas/answers';

/** Source: interface 4.1. */
export const deleteInstance = endpoint({
  name: 'deleteInstance',
  method: 'DELETE',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Delete an instance and everything that belongs to it',
  description:
    'Removes the instance with its history and its drift events. It cannot be undone. ' +
    '`Prefer: return=minimal` answers 204 without a body.',
  scope: 'full',
  response: dataOf(RemovedInstance),
  isGuarded: true,
  auditedAs: 'instance.delete',
  handler: { kind: 'engine', command: () => ({ kind: 'remove' }) },
});
