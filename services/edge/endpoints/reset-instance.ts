import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { dataOf, ResetDone } from '#edge/schemas/answers';
import { ResetInstance } from '#edge/schemas/instance-body';

/** Source: interface 4.2. */
export const resetInstance = endpoint({
  name: 'resetInstance',
  method: 'POST',
  path: '/instances/:id/reset',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Reset to the initial or the last stable state',
  description:
    '`initial` goes back to the state the instance was created with, `default` to its last stable ' +
    'checkpoint (or, without one, to the initial state). Either way the cycle is 0 and a new ' +
    'generation begins; the records of older ones stay readable with `generation=all`.',
  scope: 'full',
  body: ResetInstance,
  response: dataOf(ResetDone),
  refusals: ['missing_field', 'unknown_value'],
  isKeyed: true,
  isGuarded: true,
  isTagged: true,
  auditedAs: 'instance.reset',
  handler: { kind: 'engine', command: ({ body }) => ({ kind: 'reset', mode: body.mode }) },
});
