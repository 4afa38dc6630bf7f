import type { IncomingMessage } from 'node:http';
import { digestOf, parseApiKey } from '#accounts/api-key';
import type { Caller } from '#edge/exchange';
import { Fault } from '#fault/fault';
import { putNewest } from '#platform/put-newest';

const SCHEME = 'bearer ';

/**
 * The caller that the `Authorization` header names. Throws `unauthorized` unless there is exactly
 * one such header, its scheme is Bearer and its key has the form and checksum of an API key: a
 * typing error is found without asking the limiter. Source: interface 5, decision 41.
 */
export function readCaller(request: IncomingMessage): Caller {
  const { authorization } = request.headers;
  if (authorization === undefined) throw unauthorized('send Authorization: Bearer <API key>');
  assertSentOnce(request);
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) {
    throw unauthorized('only the Bearer scheme is accepted');
  }
  const key = authorization.slice(SCHEME.length);
  const parsed = parseApiKey(key);
  if (parsed === undefined) throw unauthorized('the API key is malformed');
  return { accountId: parsed.accountId, credential: digestOf(key) };
}

/** Keys remembered; beyond, the one that was read first is forgotten. */
const CALLERS_MAX = 10_000;

/**
 * Callers by the header they sent, so that a key's checksum and digest are computed once and not at
 * every request. Remembering says nothing about a key being valid: the limiter is asked all the
 * same.
 */
export class CallerCache {
  readonly #known = new Map<string, Caller>();

  /** The caller of a request. Throws `unauthorized` like `readCaller`. */
  read(request: IncomingMessage): Caller {
    const { authorization } = request.headers;
    const known = authorization === undefined ? undefined : this.#known.get(authorization);
    if (known !== undefined) {
      assertSentOnce(request);
      return known;
    }
    const caller = readCaller(request);
    putNewest(this.#known, authorization ?? '', caller, CALLERS_MAX);
    return caller;
  }
}

/** Throws `unauthorized` for two Authorization headers, of which Node would show only the first. */
function assertSentOnce(request: IncomingMessage): void {
  if (countOf(request.rawHeaders, 'authorization') <= 1) return;
  throw unauthorized('there are two Authorization headers');
}

/** The refusal of an unknown caller. */
export function unauthorized(why: string): Fault {
  return new Fault('unauthorized', why);
}

/** How often a header was sent: Node keeps the first of some. `rawHeaders` are names and values. */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
