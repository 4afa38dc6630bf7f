import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '#fault/fault';

/** The header with which a client says which event it had last, as Node names it. */
export const LAST_EVENT_ID = 'last-event-id';

/** The ordinal of an observation, or 0. The API document shows it as it stands. */
export const EVENT_ID = /^\d{1,16}$/;

/**
 * The event that a client had last, if its header says so; a browser that comes back sends it beside the
 * query that it began with. Throws `invalid_header` if it is none. Source: decision 244.
 */
export function readLastEventId(headers: IncomingHttpHeaders): number | undefined {
  const header = headers[LAST_EVENT_ID];
  if (header === undefined || header === '') return undefined;
  if (typeof header === 'string' && EVENT_ID.test(header)) {
    const ordinal = Number(header);
    if (Number.isSafeInteger(ordinal)) return ordinal;
  }
  throw invalid('invalid_header', 'Last-Event-ID', 'Last-Event-ID: the id of an event');
}
