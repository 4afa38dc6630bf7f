import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { Contract, dataOf } from '#edge/schemas/answers';

/** Source: interface 4.2. */
export const getContract = endpoint({
  name: 'getContract',
  method: 'GET',
  path: '/instances/:id/contract',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Get the current execution contract',
  description:
    'Which actions are allowed and forbidden now, and in which style. Processes nothing.',
  scope: 'read',
  response: dataOf(Contract),
  examples: [{ summary: 'the current contract' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readContract' }) },
});
