/* Events of an account: a log of the changes in all instances. */
import type { IncomingHttpHeaders } from 'node:http';
import { endpoint } from '#edge/endpoints/endpoint';
import { LAST_EVENT_ID } from '#edge/http';
import { AccountEvent, feedPageOf } from '#edge/schemas/answers';
import { FeedQuery } from '#edge/schemas/instance';
import { invalid } from '#errors/fault';
import { FREQUENT_TYPES, TRANSITIONS, type TransitionType } from '#identity/transitions';

/** Media type of server-sent events. */
const EVENT_STREAM = 'text/event-stream';

/** Types that callers get unless they ask for others. */
export const USUAL_TYPES = TRANSITIONS.filter((type) => !FREQUENT_TYPES.has(type));

/** Characters of a cursor: base64url. */
const CURSOR = /^[\w-]{1,1024}$/;

/** Endpoint `GET /events`. */
export const listEvents = endpoint({
  name: 'listEvents',
  method: 'GET',
  path: '/events',
  tag: 'Events',
  summary: 'Follow what changes in all instances',
  description:
    'The log of the account: which instances were created, renamed, reset or deleted, and whose ' +
    'stress state, drift level, lists of actions or leading mode changed. Events of one instance are in order. ' +
    'An event may be repeated with the same `id`. Events are kept for 7 days, and at most 10 ' +
    'million changes.\n\n' +
    'Every page has a `next_cursor`, also a page without events: store it, and send it as ' +
    '`cursor`. With `wait`, the answer waits for an event. If events after the cursor are no ' +
    'longer kept, or if the service was restored from a backup, the answer is 410 ' +
    '`cursor_expired`: continue with `start=oldest`, and read the instances that matter again.\n\n' +
    'With `order=desc`, a page has the newest events first, and `next_cursor` leads to older ' +
    'events. `newer_cursor` is the position at which a stream or a page in order continues.\n\n' +
    'With `Accept: text/event-stream`, the answer is a stream of server-sent events. The name of ' +
    'an event is its `type`, its data is the event, and its `id` is a cursor, which clients ' +
    'send back as `Last-Event-ID`. The event `gap` says that events are missing; the stream then ' +
    'goes on at the oldest event. A stream costs one request and ends like the stream of an ' +
    'instance.\n\n' +
    '`contract_changed` and `mode_changed` are frequent, and are sent only if `types` names them. ' +
    '`contract_changed` compares the lists of actions as sets: another order is no change. ' +
    '`mode_changed` compares the first of the dominant modes; `None` means that all are weak.',
  scope: 'read',
  query: FeedQuery,
  response: feedPageOf(AccountEvent),
  refusals: ['cursor_expired', 'invalid_header', 'too_many_streams'],
  examples: [
    { summary: 'the first two events', query: '?limit=2' },
    { summary: 'the newest event', query: '?order=desc&limit=1' },
    { summary: 'changes of the lists of actions', query: '?types=contract_changed&limit=1' },
  ],
  handler: {
    kind: 'feed',
    question: ({ query, headers }) => {
      const isStream = headers.accept?.includes(EVENT_STREAM) === true;
      const { types = USUAL_TYPES, order, start, wait } = query;
      const isNewestFirst = order === 'desc';
      if (isNewestFirst && (isStream || start !== undefined || wait > 0)) {
        const text = 'order: desc allows no stream, no start and no wait';
        throw invalid('invalid_parameter', 'order', text);
      }
      // A browser that reconnects sends the header and its original query.
      const last = isStream ? lastCursor(headers) : undefined;
      return {
        cursor: last ?? query.cursor,
        from: start ?? (isStream ? 'newest' : 'oldest'),
        limit: query.limit,
        types: bitsOf(types),
        isStream,
        waitMs: isStream ? 0 : wait * 1_000,
        isNewestFirst,
      };
    },
  },
});

/** Cursor in the `Last-Event-ID` header, if the client sent one. Throws `invalid_header`. */
function lastCursor(headers: IncomingHttpHeaders): string | undefined {
  const header = headers[LAST_EVENT_ID];
  if (header === undefined || header === '') return undefined;
  if (typeof header === 'string' && CURSOR.test(header)) return header;
  throw invalid('invalid_header', 'Last-Event-ID', 'Last-Event-ID: must be the id of an event');
}

/** Types as bits at their positions in `TRANSITIONS`. */
export function bitsOf(types: readonly TransitionType[]): number {
  return types.reduce((bits, type) => bits | (1 << TRANSITIONS.indexOf(type)), 0);
}
