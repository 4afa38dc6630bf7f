import { randomFillSync } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { digestOf, parseApiKey } from '#accounts/api-key';
import { Fault, invalid } from '#errors/fault';
import type { Allowance } from '#grpc/limiter-messages';
import { putNewest } from '#stdlib/hash-map';
import { IDLE_CONNECTION_MS_MAX } from '#stdlib/network';
import type { RequestTrace } from '#telemetry/tracer';

/** Refuses a schema of a route: endpoints check their input with zod. */
function noSchema(): never {
  throw new Error('routes have no schema of Fastify');
}

/**
 * Protective limits for the HTTP listener, in milliseconds and bytes. Source: attacks, "Fastify
 * hardening recipe".
 */
export const HTTP_LIMITS = {
  logger: false,
  exposeHeadRoutes: false,
  requestIdHeader: false,
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  /** Maximum batch body. Other endpoints have `BODY_BYTES_MAX`. */
  bodyLimit: 256 * 1_024,
  keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
  requestTimeout: 10_000,
  /**
   * Time without traffic after which a connection with a request is closed; longer than any call.
   * While an unread answer waits, `edge/listen/slow-peers` decides instead.
   */
  connectionTimeout: 15_000,
  /** Fastify's own compilers of schemas would load a hundred modules at the start. */
  schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
  routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 200 },
  http: {
    maxHeaderSize: 8 * 1_024,
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    /**
     * Node checks for slow senders at this interval. The default of 30 s is too long: slow senders
     * would stay open, and thousands could be closed in one check, which delays other connections.
     */
    connectionsCheckingInterval: 100,
    /** The edge itself answers a missing Host header, in the usual envelope. */
    requireHostHeader: false,
  },
} as const;

/** Maximum body for all endpoints except batches, in bytes. Source: attacks, "hardening recipe". */
export const BODY_BYTES_MAX = 32 * 1_024;

/**
 * Maximum requests per connection. The last answer closes the connection, so load balancers choose
 * an edge again. Node's own option would answer further requests without the envelope.
 */
export const REQUESTS_PER_SOCKET_MAX = 10_000;

/** API path prefix. Source: interface 9. */
export const API_PREFIX = '/v1';

/** The API's first path segment, without a slash. */
const FIRST_PART = API_PREFIX.slice(1);

/** Scheme and authority in an absolute target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i;

const ESCAPED = /%([0-9a-f]{2})/gi;

/** Whether a request target starts with the API prefix. */
export function isApiPath(target: string): boolean {
  if (!target.startsWith(API_PREFIX)) return false;
  const next = target.charAt(API_PREFIX.length);
  return next === '' || next === '/' || next === '?' || next === '#';
}

/**
 * Whether a request target aims at the API, even if obfuscated.
 *
 * Recognises absolute form, doubled slashes, dots, undecodable escapes, backslashes and other
 * letter case. Most such targets match no route, but get the API's refusals.
 */
export function meansApi(target: string): boolean {
  if (isApiPath(target)) return true;
  const [path = ''] = target.replace(ORIGIN, '').split(/[?#]/, 1);
  const plain = path.replace(ESCAPED, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const parts: string[] = [];
  for (const part of plain.split(/[/\\]/)) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const [first = ''] = parts[0]?.split(';', 1) ?? [];
  return first.trim().toLowerCase() === FIRST_PART;
}

/** A route's metric label: its path without the API prefix, with `:id` as placeholder. */
export function countedRoute(route: string): string {
  return isApiPath(route) ? route.slice(API_PREFIX.length) : route;
}

/** A URL's path as the router reads it: decoded, without origin and query. */
export function plainPathOf(url: string): string {
  const full = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? url);
  const [path = ''] = full.split(/[?#]/, 1);
  // `decodeURI` cannot throw here: the router has refused undecodable URLs before.
  return path.includes('%') ? decodeURI(path) : path;
}

/** Form for request ids, both sent and generated. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Random bytes in a generated id. */
const ID_BYTES = 16;

/** Number of ids per random draw. A draw costs as much as a hundred ids. */
const IDS_PER_DRAW = 512;

const pool = Buffer.alloc(ID_BYTES * IDS_PER_DRAW);
let used = pool.length;

/** The caller's `X-Request-Id` if well-formed, else a new id. */
export function requestIdFrom(header: string | string[] | undefined): string {
  if (typeof header === 'string' && REQUEST_ID.test(header)) return header;
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${pool.toString('hex', used - ID_BYTES, used)}`;
}

/** An account member, signed in by the console. */
type Member = { readonly userId: string; readonly sessionId: string };

/** The caller named by the request. The limiter decides whether the key is valid. */
export type Caller = {
  readonly accountId: string;
  /**
   * SHA-256 of the whole API key. The key itself never leaves this process.
   *
   * For a member, the session id, which is no key digest.
   */
  readonly credential: string;
  /** Member who makes the call. Undefined if an API key makes the call. Source: decision 253. */
  readonly member?: Member | undefined;
};

/** One request and its state in the edge, from the first hook until the answer. */
export type Exchange = {
  /** The caller's `X-Request-Id`, or a new id. */
  readonly requestId: string;
  /** Monotonic time when the first byte arrived, in milliseconds. */
  readonly startedMs: number;
  /** Caller of the request. Undefined before authentication, and after a failed authentication. */
  caller: Caller | undefined;
  /** Trace of the request. Undefined if the request is not traced. */
  readonly trace?: RequestTrace | undefined;
  /** Whether the request takes a slot: it is complete and not answered yet. */
  isActive: boolean;
};

type Carrier = FastifyRequest & { exchange: Exchange | undefined };

/** Attaches an exchange to its request. */
export function attachExchange(request: FastifyRequest, exchange: Exchange): void {
  (request as Carrier).exchange = exchange;
}

/** The request's exchange; undefined if the first hook has not run. */
export function exchangeOf(request: FastifyRequest): Exchange | undefined {
  return (request as Carrier).exchange;
}

const SCHEME = 'bearer ';

/**
 * Parses the caller from the `Authorization` header. Source: interface 5, decision 41.
 *
 * Throws `unauthorized` unless the request has exactly one such header, with the scheme Bearer and
 * a key with valid form and checksum. So typing errors are found without a call to the limiter.
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

/** Maximum cached keys. The cache evicts the oldest entry. */
const CALLERS_MAX = 10_000;

/**
 * Caches callers by `Authorization` header, so that a key's checksum and digest are computed once.
 * A cached key need not be valid: the limiter is asked about every call.
 */
export class CallerCache {
  readonly #known = new Map<string, Caller>();

  /** The request's caller. Throws `unauthorized` like `readCaller`. */
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

/** Throws `unauthorized` for several Authorization headers, of which Node shows only the first. */
function assertSentOnce(request: IncomingMessage): void {
  if (countOf(request.rawHeaders, 'authorization') <= 1) return;
  throw unauthorized('send exactly one Authorization header');
}

/** A fault `unauthorized` with the text `why`. */
export function unauthorized(why: string): Fault {
  return new Fault('unauthorized', why);
}

/**
 * Counts headers with this name. For some names, Node's parsed headers show only the first.
 *
 * `rawHeaders` alternates names and values. `name` is in lower case.
 */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Response headers by name. */
export type Headers = Record<string, string | number>;

/** Rate-limit window. The headers round its end up to a second. Source: interface 8.1. */
const WINDOW_S = 60;

/** Reset time shown to unknown callers, in seconds. */
const UNKNOWN_RESET_S = 60;

/** Seconds to wait before the next call when the limiter gave no answer. Source: decision 24. */
export const UNSURE_RESET_S = 2;

/** Whole seconds until a Unix time in seconds, rounded up. */
export function secondsUntil(timeS: number, nowMs: number): number {
  return Math.max(0, Math.ceil(timeS - nowMs / 1_000));
}

/** When the window ends, in Unix seconds as in the headers; never in the past. */
export function windowResetS({ windowResetAtS }: Allowance, nowMs: number): number {
  return Math.max(windowResetAtS, Math.ceil(nowMs / 1_000));
}

/** Whole seconds until the window ends, at most its length. */
export function windowLeftS(allowance: Allowance, nowMs: number): number {
  return Math.min(WINDOW_S, secondsUntil(windowResetS(allowance, nowMs), nowMs));
}

/** Rate-limit headers for a known caller: interface 8.2 and the IETF draft. */
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

/** Rate-limit headers for an unknown caller, without any account's figures. */
export function unknownHeaders(nowMs: number): Headers {
  return {
    'x-ratelimit-limit': 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNKNOWN_RESET_S,
    'x-monthly-remaining': 0,
  };
}

/** Rate-limit headers without the limiter's answer: lower bounds. Source: decision 24. */
export function unsureHeaders(lastKnown: Allowance | undefined, nowMs: number): Headers {
  return {
    'x-ratelimit-limit': lastKnown?.requestsPerMinute ?? 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNSURE_RESET_S,
    'x-monthly-remaining': lastKnown?.cyclesRemaining ?? 0,
  };
}

/**
 * `If-Match` pattern: `*`, or an entity tag list (RFC 9110, 8.8.3 and 13.1). The API document shows
 * the pattern verbatim.
 */
export const CONDITION =
  /^(?:\*|(?:W\/)?"[!#-~\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[!#-~\x80-\xff]*")*)$/;

/** Maximum length for entity tag headers; no honest cache sends more. */
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

/** Request header with the id that the client received last, in Node's spelling. */
export const LAST_EVENT_ID = 'last-event-id';

/**
 * Event id pattern: an observation's ordinal, or 0. The API document shows the pattern verbatim.
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
