import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { recordsPage } from '#edge/list-pages';
import { DriftEvents } from '#edge/schemas/answers';
import { DriftQuery } from '#edge/schemas/query-parameters';

/** Source: interface 4.2. */
export const getDrift = endpoint({
  name: 'getDrift',
  method: 'GET',
  path: '/instances/:id/drift',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'List drift events, most recent first',
  description:
    'One event for every cycle that was not `D0`. Without `limit` and `offset` the newest 1,000, ' +
    'and `pagination` carries only `total`; with one of them or `cursor` all fields.',
  scope: 'read',
  query: DriftQuery,
  response: DriftEvents,
  examples: [{ summary: 'two events, with ?limit=2', query: '?limit=2' }],
  handler: {
    kind: 'engine',
    command: ({ query, named, id }) => {
      const isPaged = named.has('limit') || named.has('offset') || named.has('cursor');
      return { kind: 'readDrift', ...recordsPage('drift', query, { named, id }), isPaged };
    },
  },
});
