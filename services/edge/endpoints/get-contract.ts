import { endpoint } from '#edge/endpoint';
import { INSTANCE_ID } from '#edge/path-ids';
import { Contract, dataOf } from '#edge/schemas/answers';
import { NoQuery } from '#edge/schemas/query-parameters';

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
  query: NoQuery,
  response: dataOf(Contract),
  refusals: [],
  examples: [{ summary: 'the current contract' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readContract' }) },
});
