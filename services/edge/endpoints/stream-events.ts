import { endpoint, INSTANCE_ID } from '#edge/endpoint';
import { readLastEventId } from '#edge/last-event-id';
import { EventText } from '#edge/schemas/answers';
import { EventsQuery } from '#edge/schemas/query-parameters';

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
