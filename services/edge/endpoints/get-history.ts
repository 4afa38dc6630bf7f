import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { recordsPage } from '#edge/list-pages';
import { HistoryRecord, pageOf } from '#edge/schemas/answers';
import { HistoryQuery } from '#edge/schemas/query-parameters';

/** Source: interface 4.2. */
export const getHistory = endpoint({
  name: 'getHistory',
  method: 'GET',
  path: '/instances/:id/history',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'List processed observations, most recent first',
  description:
    'Records of the current generation, or with `generation=all` of every generation since the ' +
    'instance was created, each with its `generation`. With `cursor` each record ' +
    'appears exactly once, whatever is processed or reset meanwhile.',
  scope: 'read',
  query: HistoryQuery,
  response: pageOf(HistoryRecord),
  examples: [{ summary: 'two records, with ?limit=2', query: '?limit=2' }],
  handler: {
    kind: 'engine',
    command: ({ query, named, id }) => {
      return { kind: 'readHistory', ...recordsPage('history', query, { named, id }) };
    },
  },
});
