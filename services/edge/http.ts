import { randomFillSync } from 'node:crypto';
import { IDLE_CONNECTION_MS_MAX } from '#platform/network';

/**
 * How the listener protects itself. Source: attacks, "Fastify hardening recipe"; times in
 * milliseconds, sizes in bytes.
 */
export const HTTP_LIMITS = {
  logger: false,
  exposeHeadRoutes: false,
  requestIdHeader: false,
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  /** The largest body, a batch's; that of other endpoints is `BODY_BYTES_MAX`. */
  bodyLimit: 256 * 1_024,
  keepAliveTimeout: IDLE_CONNECTION_MS_MAX,
  requestTimeout: 10_000,
  /**
   * How long nothing may move on a connection that has a request: longer than any call takes. While
   * an answer waits that is not read, `edge/listen/slow-readers` decides instead.
   */
  connectionTimeout: 15_000,
  routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 200 },
  http: {
    maxHeaderSize: 8 * 1_024,
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    /**
     * Node looks for slow senders this often; its default of 30 s lets them stand. Thousands that
     * began together end together: a tenth of a second's worth at once delays no other connection.
     */
    connectionsCheckingInterval: 100,
    /** A missing Host is answered in the envelope. */
    requireHostHeader: false,
  },
} as const;

/** Bytes of any body but a batch's. Source: attacks, "hardening recipe". */
export const BODY_BYTES_MAX = 32 * 1_024;

/**
 * Requests on one connection before it is closed with an answer, so that balancers get to choose
 * again. Node's own option of this name answers those that come after it in words of its own.
 */
export const REQUESTS_PER_SOCKET_MAX = 10_000;

/** Where the API begins. Source: interface 9. */
export const API_PREFIX = '/v1';

/** The API's first part of a path, without its slash. */
const FIRST_PART = API_PREFIX.slice(1);

/** Scheme and authority of a target in absolute form (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i;

const ESCAPED = /%([0-9a-f]{2})/gi;

/** Whether a request's target begins as every path of the API does. */
export function isApiPath(target: string): boolean {
  if (!target.startsWith(API_PREFIX)) return false;
  const next = target.charAt(API_PREFIX.length);
  return next === '' || next === '/' || next === '?' || next === '#';
}

/**
 * Whether a target means the API, however it is bent: in absolute form, with doubled slashes, dots,
 * escapes that may not even be decodable, backslashes or other case. Most of these lead nowhere,
 * but their senders are refused as the API refuses.
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

/** What calls of a route are counted under: its path, of the API without the prefix, with `:id` in it. */
export function countedRoute(route: string): string {
  return isApiPath(route) ? route.slice(API_PREFIX.length) : route;
}

/** The path of a URL as the router reads it: without origin, query and escapes. */
export function plainPathOf(url: string): string {
  const full = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? url);
  const [path = ''] = full.split(/[?#]/, 1);
  // The router has refused what cannot be decoded before it gets here.
  return path.includes('%') ? decodeURI(path) : path;
}

/** What a request's id looks like, a caller's and a new one. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Bytes of randomness in an id. */
const ID_BYTES = 16;

/** Randomness is drawn for this many ids at a time, because one draw costs as much as a hundred. */
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
