import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '#errors/fault';
import type { Allowance } from '#grpc/limiter-messages';

/** Response headers by name. */
export type Headers = Record<string, string | number>;

/**
 * Length of the rate-limit window. The headers round its end up to a second. Source: interface 8.1.
 */
const WINDOW_S = 60;

/** Reset time shown to unknown callers, in seconds. */
const UNKNOWN_RESET_S = 60;

/** Seconds to wait before the next call when the limiter gave no answer. Source: decision 24. */
export const UNSURE_RESET_S = 2;

/** Whole seconds until a Unix time in seconds, rounded up. */
export function secondsUntil(timeS: number, nowMs: number): number {
  return Math.max(0, Math.ceil(timeS - nowMs / 1_000));
}

/** Unix second of the window's end, as the headers show it; never in the past. */
export function windowResetS({ windowResetAtS }: Allowance, nowMs: number): number {
  return Math.max(windowResetAtS, Math.ceil(nowMs / 1_000));
}

/** Whole seconds until the window ends, at most its length. */
export function windowLeftS(allowance: Allowance, nowMs: number): number {
  return Math.min(WINDOW_S, secondsUntil(windowResetS(allowance, nowMs), nowMs));
}

/** Headers of a known caller: those of interface 8.2 and the two of the IETF draft. */
export function limitHeaders(allowance: Allowance, nowMs: number): Headers {
  const { requestsPerMinute, requestsRemaining, cyclesPerMonth, cyclesRemaining } = allowance;
  const resetAtS = windowResetS(allowance, nowMs);
  const minute = `"minute";r=${requestsRemaining};t=${windowLeftS(allowance, nowMs)}`;
  const month = `"month";r=${cyclesRemaining};t=${secondsUntil(allowance.monthResetAtS, nowMs)}`;
  return {
    'x-ratelimit-limit': requestsPerMinute,
    'x-ratelimit-remaining': requestsRemaining,
    'x-ratelimit-reset': resetAtS,
    'x-monthly-remaining': cyclesRemaining,
    'ratelimit-policy': `"minute";q=${requestsPerMinute};w=${WINDOW_S}, "month";q=${cyclesPerMonth};qu="cycles"`,
    ratelimit: `${minute}, ${month}`,
  };
}

/** Headers of an unknown caller. They never show an account's figures. */
export function unknownHeaders(nowMs: number): Headers {
  return {
    'x-ratelimit-limit': 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNKNOWN_RESET_S,
    'x-monthly-remaining': 0,
  };
}

/**
 * Headers when the limiter gave no answer: lower bounds of the real figures. Source: decision 24.
 */
export function unsureHeaders(lastKnown: Allowance | undefined, nowMs: number): Headers {
  return {
    'x-ratelimit-limit': lastKnown?.requestsPerMinute ?? 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNSURE_RESET_S,
    'x-monthly-remaining': lastKnown?.cyclesRemaining ?? 0,
  };
}

/**
 * Pattern of `If-Match`: `*`, or a list of entity tags (RFC 9110, 8.8.3 and 13.1). The API document
 * shows the pattern verbatim.
 */
export const CONDITION =
  /^(?:\*|(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*)$/;

/** Maximum length of a header with entity tags; no honest cache sends more. */
export const CONDITION_LENGTH_MAX = 1_024;

/** The `If-Match` header as sent. Throws `invalid_header` (400). Source: decision 21. */
export function readIfMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.length > CONDITION_LENGTH_MAX || !CONDITION.test(header)) {
    throw invalid('invalid_header', 'If-Match', 'If-Match: must be an ETag in quotes, or *');
  }
  return header;
}

/** Whether `If-None-Match` contains the current ETag. A malformed header matches nothing. */
export function isKnownToCaller(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || etag === '') return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Whether the caller's `Prefer` header (RFC 7240) holds a preference such as `handling=strict`. */
export function isPreferred(prefer: string | string[] | undefined, preference: string): boolean {
  if (prefer === undefined) return false;
  const sent = Array.isArray(prefer) ? prefer.join(',') : prefer;
  return sent.split(',').some((part) => {
    const [token = ''] = part.split(';');
    return token.replaceAll(/[\s"]/g, '').toLowerCase() === preference;
  });
}

/** Request header with the id of the last event that the client received, in Node's spelling. */
export const LAST_EVENT_ID = 'last-event-id';

/**
 * Pattern of an event id: the ordinal of an observation, or 0. The API document shows the pattern
 * verbatim.
 */
export const EVENT_ID = /^\d{1,16}$/;

/**
 * The id in the `Last-Event-ID` header; undefined without a header. Throws `invalid_header`.
 *
 * A browser that reconnects sends this header and its original query. Source: decision 244.
 */
export function readLastEventId(headers: IncomingHttpHeaders): number | undefined {
  const header = headers[LAST_EVENT_ID];
  if (header === undefined || header === '') return undefined;
  if (typeof header === 'string' && EVENT_ID.test(header)) {
    const ordinal = Number(header);
    if (Number.isSafeInteger(ordinal)) return ordinal;
  }
  throw invalid('invalid_header', 'Last-Event-ID', 'Last-Event-ID: must be the id of an event');
}
