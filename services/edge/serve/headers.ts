import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '#fault/fault';
import type { Allowance } from '#wire/limiter-messages';

/** Response headers by name. */
export type Headers = Record<string, string | number>;

/** Length of the window of requests. Its end is shown in whole seconds, up to one later. Source: interface 8.1. */
const WINDOW_S = 60;

/** Seconds after which an unknown caller may look again. */
const UNKNOWN_RESET_S = 60;

/** Seconds after which a limiter that was not sure may be asked again. Source: decision 24. */
export const UNSURE_RESET_S = 2;

/** Whole seconds until a Unix time in seconds, never a moment too short. */
export function secondsUntil(timeS: number, nowMs: number): number {
  return Math.max(0, Math.ceil(timeS - nowMs / 1_000));
}

/** Unix second at which the window ends, as the headers show it: never in the past. */
export function windowResetS({ windowResetAtS }: Allowance, nowMs: number): number {
  return Math.max(windowResetAtS, Math.ceil(nowMs / 1_000));
}

/** Whole seconds until the window ends, at most its length. */
export function windowLeftS(allowance: Allowance, nowMs: number): number {
  return Math.min(WINDOW_S, secondsUntil(windowResetS(allowance, nowMs), nowMs));
}

/** The headers for a known caller: interface 8.2 and the IETF pair. */
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

/** The headers where no caller is known: never another account's numbers. */
export function unknownHeaders(nowMs: number): Headers {
  return {
    'x-ratelimit-limit': 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNKNOWN_RESET_S,
    'x-monthly-remaining': 0,
  };
}

/** The headers where the limiter was not sure: never more than the truth. Source: decision 24. */
export function unsureHeaders(lastKnown: Allowance | undefined, nowMs: number): Headers {
  return {
    'x-ratelimit-limit': lastKnown?.requestsPerMinute ?? 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNSURE_RESET_S,
    'x-monthly-remaining': lastKnown?.cyclesRemaining ?? 0,
  };
}

/**
 * `*`, or a list of entity tags (RFC 9110, 8.8.3 and 13.1). The API document shows it as it stands.
 */
export const CONDITION =
  /^(?:\*|(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*)$/;

/** Entity tags named in one header; no honest cache has more. */
export const CONDITION_LENGTH_MAX = 1_024;

/** The `If-Match` header as sent. Throws `invalid_request` (400) if it is none. Source: decision 21. */
export function readIfMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.length > CONDITION_LENGTH_MAX || !CONDITION.test(header)) {
    throw invalid('invalid_header', 'If-Match', 'If-Match: an ETag in quotes, or *');
  }
  return header;
}

/** Whether `If-None-Match` says that the caller has this answer already. Malformed ones say nothing. */
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
