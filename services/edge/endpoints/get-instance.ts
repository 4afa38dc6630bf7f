import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { dataOf, Instance } from '#edge/schemas/answers';

/** Source: interface 4.1. */
export const getInstance = endpoint({
  name: 'getInstance',
  method: 'GET',
  path: '/instances/:id',
  pathId: INSTANCE_ID,
  tag: 'Instances',
  summary: 'Get an instance',
  description: 'An id of the wrong form is answered exactly like one that does not exist.',
  scope: 'read',
  response: dataOf(Instance),
  examples: [{ summary: 'an instance' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readInstance' }) },
});
