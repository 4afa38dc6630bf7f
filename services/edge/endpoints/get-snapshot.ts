import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { CurrentSnapshot, dataOf } from '#edge/schemas/answers';

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
  response: dataOf(CurrentSnapshot),
  examples: [{ summary: 'the current state' }],
  isTagged: true,
  handler: { kind: 'engine', command: () => ({ kind: 'readSnapshot' }) },
});
