import { randomFillSync } from 'node:crypto';
import { IDLE_CONNECTION_MS_MAX } from '#stdlib/network';

/**
 * Protective limits of the HTTP listener, in milliseconds and bytes. Source: attacks, "Fastify
 * hardening recipe".
 */
export const HTTP_LIMITS = {
  logger: false,
  exposeHeadRoutes: false,
  requestIdHeader: false,
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  /** Maximum body of a batch. Other endpoints have `BODY_BYTES_MAX`. */
  bodyLimit: 256 * 1_024,
  keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
  requestTimeout: 10_000,
  /**
   * Time without traffic after which a connection with a request is closed; longer than any call.
   * While an unread answer waits, `edge/listen/slow-readers` decides instead.
   */
  connectionTimeout: 15_000,
  routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 200 },
  http: {
    maxHeaderSize: 8 * 1_024,
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    /**
     * Node checks for slow senders at this interval. The default of 30 s would keep them too long.
     * Thousands of senders that started together also end together. A short interval spreads that
     * work, so other connections are not delayed.
     */
    connectionsCheckingInterval: 100,
    /** The edge itself answers a missing Host header, in the usual envelope. */
    requireHostHeader: false,
  },
} as const;

/** Maximum body of all endpoints except batches, in bytes. Source: attacks, "hardening recipe". */
export const BODY_BYTES_MAX = 32 * 1_024;

/**
 * Maximum number of requests on one connection before the edge closes it with an answer. Load
 * balancers choose a new edge then. Node's option of this name answers later requests without the
 * envelope.
 */
export const REQUESTS_PER_SOCKET_MAX = 10_000;

/** Path prefix of the API. Source: interface 9. */
export const API_PREFIX = '/v1';

/** First path segment of the API, without a slash. */
const FIRST_PART = API_PREFIX.slice(1);

/** Scheme and authority of a target in absolute form (RFC 9112, 3.2.2). */
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
 * Recognises absolute form, doubled slashes, dots, escapes (even undecodable ones), backslashes and
 * other case. Most of these targets match no route, but get the refusals of the API.
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

/** Label of a route in metrics: its path without the API prefix, with `:id` as placeholder. */
export function countedRoute(route: string): string {
  return isApiPath(route) ? route.slice(API_PREFIX.length) : route;
}

/** The path of a URL as the router reads it: decoded, without origin and query. */
export function plainPathOf(url: string): string {
  const full = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? url);
  const [path = ''] = full.split(/[?#]/, 1);
  // `decodeURI` cannot throw here: the router has refused undecodable URLs before.
  return path.includes('%') ? decodeURI(path) : path;
}

/** Form of a request id, sent by a caller or generated. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Random bytes of a generated id. */
const ID_BYTES = 16;

/** Number of ids per draw of randomness. One draw costs as much as a hundred ids. */
const IDS_PER_DRAW = 512;

const pool = Buffer.alloc(ID_BYTES * IDS_PER_DRAW);
let used = pool.length;

/** The caller's `X-Request-Id` if it is well-formed, else a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  if (typeof header === 'string' && REQUEST_ID.test(header)) return header;
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${pool.toString('hex', used - ID_BYTES, used)}`;
}
