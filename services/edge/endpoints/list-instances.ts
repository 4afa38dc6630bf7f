import { endpoint } from '#edge/endpoint';
import { ListedInstance, pageOf } from '#edge/schemas/answers';
import { ListQuery } from '#edge/schemas/query-parameters';

/** Source: interface 4.1. */
export const listInstances = endpoint({
  name: 'listInstances',
  method: 'GET',
  path: '/instances',
  tag: 'Instances',
  summary: 'List the instances of the account',
  description:
    'Ordered by `created_at` (ties by id) or by `name` (by code point; ties by `created_at`, then ' +
    'id). A parameter out of range is refused with 400, never clamped.',
  scope: 'read',
  query: ListQuery,
  response: pageOf(ListedInstance),
  examples: [{ summary: 'the first page' }],
  handler: { kind: 'engine', command: ({ query }) => ({ kind: 'list', ...query }) },
});
