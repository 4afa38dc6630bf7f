import { endpoint } from '#edge/endpoint';
import { instancesPage } from '#edge/list-pages';
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
    'id). With `search` it has the instances whose name contains that text, in whatever case, or ' +
    'whose id is that text, and `total` counts them. With `cursor` each instance that exists throughout ' +
    'appears exactly once, whatever is created, renamed or deleted meanwhile. A parameter out of range is refused with 400, never clamped.',
  scope: 'read',
  query: ListQuery,
  response: pageOf(ListedInstance),
  examples: [
    { summary: 'the first page' },
    { summary: 'those whose name contains a text', query: '?search=ada' },
  ],
  handler: {
    kind: 'engine',
    command: ({ query, named }) => ({ kind: 'list', ...instancesPage(query, { named }) }),
  },
});
