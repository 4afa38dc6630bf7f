import { endpoint, INSTANCE_ID, recordsPage } from '#edge/endpoints/endpoint';
import {
  Contract,
  CurrentSnapshot,
  DriftEvents,
  dataOf,
  EventText,
  HistoryRecord,
  pageOf,
} from '#edge/schemas/answers';
import { DriftQuery, EventsQuery, HistoryQuery } from '#edge/schemas/instance';
import { readLastEventId } from '#edge/serve/headers';

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

/** Source: decision 244. */
export const streamEvents = endpoint({
  name: 'streamEvents',
  method: 'GET',
  path: '/instances/:id/events',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Follow an instance by server-sent events',
  description:
    'Every cycle of the instance as it becomes durable, in order, none left out and none twice. Events:\n\n' +
    '- `cycle`, with an `id`, the ordinal of the observation in the whole life of the instance: ' +
    '`{"observation", "drift"}`, as `GET …/history?generation=all` and `GET …/drift?generation=all` show ' +
    'them; `drift` is null at level D0.\n' +
    '- `state`: `{"snapshot", "contract", "drift"}` as an observation is answered, with `set_point` and ' +
    '`last_stable`, the strengths of modes that departures are measured from and that a rollback or the ' +
    'reset `default` returns to; first of all and after the newest cycle, rename or reset.\n' +
    '- `reset`: `{"generation"}`, the generation that begins. After a reconnect it may come once more.\n' +
    '- `gap`: `{"from", "to"}`, the ordinals of cycles that are no longer kept.\n' +
    '- `deleted`: `{}`; the stream ends, and reconnecting is answered 404.\n\n' +
    'It begins with what happens from now on, or behind the `Last-Event-ID`, or `after` for clients that ' +
    'cannot send it; the header counts where both are there. Comments every 15 s show that the stream is ' +
    'there. It ends after at most an hour, when the account or one of its keys changes, and when the ' +
    'server is replaced; `retry` says when to come back. Costs one request each time, and no cycle.',
  scope: 'read',
  query: EventsQuery,
  response: EventText,
  refusals: ['invalid_header', 'too_many_streams'],
  examples: [{ summary: 'the newest cycle and the state, with ?after=12', query: '?after=12' }],
  handler: {
    kind: 'stream',
    command: ({ query, headers }) => {
      const ordinal = readLastEventId(headers) ?? query.after;
      const after =
        ordinal === undefined ? undefined : { ordinal, drift: 0, generation: 0, version: 0 };
      return { kind: 'readEvents', after, waitMs: 0 };
    },
  },
});
