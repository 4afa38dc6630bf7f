import { STATUS_CODES } from 'node:http';
import { type Headers, unknownHeaders } from '#edge/limit-headers';
import type { Fault } from '#fault/fault';

/** Seconds to wait where a 503 says nothing else: it was refused before anything happened. */
const RETRY_AFTER_S = 1;

/** What keeps browsers from guessing and caches from sharing; on every answer of the API. */
export const SAFETY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-cache',
} as const;

/** A refusal as an HTTP answer: the only place where a Fault becomes one (interface 7). */
type FaultReply = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

/** Status, headers and envelope of a refusal. `requestId` is shown in the details of a 5xx only. */
export function faultReply(fault: Fault, requestId: string): FaultReply {
  const status = fault.httpStatus;
  const headers: Headers = { 'content-type': 'application/json; charset=utf-8' };
  const retryAfterS = fault.retryAfterS ?? (status === 503 ? RETRY_AFTER_S : undefined);
  if (retryAfterS !== undefined) headers['retry-after'] = retryAfterS;
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  const body = {
    error: fault.code,
    message: fault.message,
    ...(status === 429 && retryAfterS !== undefined ? { retry_after: retryAfterS } : {}),
    ...detailsOf(fault, requestId),
  };
  return { status, headers, body: JSON.stringify(body) };
}

function detailsOf(fault: Fault, requestId: string) {
  const { field, reason, mode } = fault;
  const details = {
    ...(field === undefined ? {} : { field }),
    ...(reason === undefined ? {} : { reason }),
    ...(mode === undefined ? {} : { mode }),
    ...(fault.code === 'rate_limited' ? { alias: 'rate_limit_exceeded' } : {}),
    ...(fault.httpStatus >= 500 ? { request_id: requestId } : {}),
  };
  return Object.keys(details).length === 0 ? {} : { details };
}

/**
 * A refusal with everything that an answer carries, for requests that no hook sees: the caller is
 * unknown (limiter-headers).
 */
export function anonymousReply(fault: Fault, requestId: string, nowMs: number): FaultReply {
  const { status, headers, body } = faultReply(fault, requestId);
  const all = {
    ...headers,
    ...unknownHeaders(nowMs),
    ...SAFETY_HEADERS,
    'x-request-id': requestId,
    'content-length': Buffer.byteLength(body),
  };
  return { status, headers: all, body };
}

/** The same as raw bytes, for requests so broken that Node hands over only the socket. */
export function rawFaultReply(fault: Fault, requestId: string, nowMs: number): string {
  const { status, headers, body } = anonymousReply(fault, requestId, nowMs);
  const all = { ...headers, date: new Date(nowMs).toUTCString(), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
