import { endpoint } from '#edge/endpoint';
import { INSTANCE_ID } from '#edge/path-ids';
import { CurrentSnapshot, dataOf } from '#edge/schemas/answers';
import { NoQuery } from '#edge/schemas/query-parameters';

/** Source: interface 4.2. */
export const getSnapshot = endpoint({
  name: 'getSnapshot',
  method: 'GET',
  path: '/instances/:id/snapshot',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Get the current state',
  description: 'Processes nothing.',
  scope: 'read',
  query: NoQuery,
  response: dataOf(CurrentSnapshot),
  refusals: [],
  examples: [{ summary: 'the current state' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readSnapshot' }) },
});
