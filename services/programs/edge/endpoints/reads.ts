import { endpoint, INSTANCE_ID, recordsPage } from '#edge/endpoints/endpoint';
import { readLastEventId } from '#edge/http';
import {
  Contract,
  CurrentSnapshot,
  DriftEvents,
  dataOf,
  EventText,
  HistoryRecord,
  pageOf,
} from '#edge/schemas/answers';
import { ContractQuery, DriftQuery, EventsQuery, HistoryQuery } from '#edge/schemas/instance';
import { contractPrompt } from '#identity/contract-prompt';

/** Endpoint `GET /instances/{id}/snapshot`. Source: interface 4.2. */
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

/** Endpoint `GET /instances/{id}/contract`. Source: interface 4.2. */
export const getContract = endpoint({
  name: 'getContract',
  method: 'GET',
  path: '/instances/:id/contract',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Get the current execution contract',
  description:
    'Which actions are allowed and forbidden now, and in which style. With `prompt=true`, the ' +
    'answer also has `prompt`: the contract as English text for the instructions of a language ' +
    'model. Put the text last in the instructions. Processes nothing.',
  scope: 'read',
  query: ContractQuery,
  response: dataOf(Contract),
  examples: [
    { summary: 'the current contract' },
    { summary: 'with its prompt, by ?prompt=true', query: '?prompt=true' },
  ],
  isTagged: true,
  handler: {
    kind: 'engine',
    command: () => ({ kind: 'readContract' }),
    present: ({ query }) => (query.prompt ? withPrompt : undefined),
  },
});

/** Adds the prompt of a contract to the text of its answer. */
function withPrompt(body: string): string {
  const { data } = JSON.parse(body);
  return JSON.stringify({ data: { ...data, prompt: contractPrompt(data) } });
}

/** Endpoint `GET /instances/{id}/drift`. Source: interface 4.2. */
export const getDrift = endpoint({
  name: 'getDrift',
  method: 'GET',
  path: '/instances/:id/drift',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'List drift events, most recent first',
  description:
    'One event for every cycle with a level other than `D0`. Without `limit`, `offset` and ' +
    '`cursor`, the answer has the newest 1,000 events, and `pagination` has only `total`.',
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

/** Endpoint `GET /instances/{id}/history`. Source: interface 4.2. */
export const getHistory = endpoint({
  name: 'getHistory',
  method: 'GET',
  path: '/instances/:id/history',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'List processed observations, most recent first',
  description:
    'Records of the current generation. With `generation=all`, records of every generation since ' +
    'the creation of the instance, each with its `generation`. With `cursor`, each record ' +
    'appears exactly once, even if observations are processed or the instance is reset meanwhile.',
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

/** Endpoint `GET /instances/{id}/events`. Source: decision 244. */
export const streamEvents = endpoint({
  name: 'streamEvents',
  method: 'GET',
  path: '/instances/:id/events',
  pathId: INSTANCE_ID,
  tag: 'Engine',
  summary: 'Follow an instance by server-sent events',
  description:
    'Sends every cycle of the instance exactly once, in order, as soon as the cycle is durable. ' +
    'Events:\n\n' +
    '- `cycle`: `{"observation", "drift"}`, as in `GET …/history?generation=all` and ' +
    '`GET …/drift?generation=all`; `drift` is null at level D0. The `id` of the event is the ordinal ' +
    'of the observation, counted since the creation of the instance.\n' +
    '- `state`: `{"snapshot", "contract", "drift"}` as in the answer to an observation, and the ' +
    'mode strengths `set_point` (the reference of drift) and `last_stable` (restored by a ' +
    'rollback or the reset `default`). Sent first, and after the newest cycle, rename or reset.\n' +
    '- `reset`: `{"generation"}`, the new generation. May be repeated after a reconnect.\n' +
    '- `gap`: `{"from", "to"}`, the ordinals of cycles that are no longer stored.\n' +
    '- `deleted`: `{}`. The stream ends, and a reconnect is answered 404.\n\n' +
    'The stream starts now, or after the event of `Last-Event-ID`. Clients that cannot send this ' +
    'header use `after`; the header has priority. Comments every 15 s show that the connection ' +
    'is open. The stream ends after at most one hour, when the account or one of its keys ' +
    'changes, and when the server is replaced. Reconnect after the time in `retry`. Each ' +
    'connection costs one request, and no cycle.',
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
