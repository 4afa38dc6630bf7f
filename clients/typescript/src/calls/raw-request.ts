import { IdentityEngineError } from '../errors.ts';
import type { Result } from '../result.ts';
import { type Call, METHODS, type RequestMethod } from './call.ts';
import type { CallOptions } from './call-options.ts';

/** Options for `client.request`. */
export type RequestOptions = CallOptions & {
  /** Query parameters; undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Request body, sent as JSON; default no body. */
  readonly body?: unknown;
  /**
   * 1 to 255 printable ASCII characters; default no key. A change with a key is retried like a
   * read, so set a key only for a path that supports keys.
   */
  readonly idempotencyKey?: string | undefined;
  /** The expected `etag`; default none. */
  readonly ifMatch?: string | undefined;
};

/** Answer to `client.request`. */
export type RequestResult<T> = Result<T> & {
  /** Position in a list, as the service sent it; undefined for other answers. */
  readonly pagination: unknown;
};

/**
 * Call of `client.request`. A GET is always retried. Another method is retried always with a key,
 * and otherwise only if the attempt certainly changed nothing.
 */
export function rawCall(
  method: RequestMethod,
  path: string,
  options: RequestOptions & { readonly ifNoneMatch?: string | undefined },
): Call {
  if (!METHODS.includes(method)) {
    throw new IdentityEngineError(`method must be one of ${METHODS.join(', ')}, not ${method}`);
  }
  const { query, body, idempotencyKey, ifMatch, ifNoneMatch } = options;
  const isRead = method === 'GET';
  if (isRead && body !== undefined) throw new IdentityEngineError('a GET request has no body');
  const keys = { 'idempotency-key': idempotencyKey };
  const conditions = { 'if-match': ifMatch, 'if-none-match': ifNoneMatch };
  return {
    ...{ method, path: assertPath(path), query, body, headers: { ...keys, ...conditions } },
    repeatable: isRead || idempotencyKey !== undefined ? 'always' : 'if_nothing_happened',
    ...{ isChange: !isRead, mayBeEmpty: true, options },
  };
}

/** A path of encoded, non-empty segments: no query, fragment, backslash, space or other control. */
const PATH = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)+$/;

/** A segment that a URL parser removes together with the segment before, also if encoded. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Throws an `IdentityEngineError` for a path that is invalid, or that would leave the base URL with
 * the API key. Otherwise returns the path.
 */
function assertPath(path: string): string {
  if (/^\/v1(\/|$)/.test(path)) {
    throw new IdentityEngineError(`the path is relative to /v1; leave out /v1: ${path}`);
  }
  if (PATH.test(path) && !DOT_SEGMENT.test(path)) return path;
  throw new IdentityEngineError(
    `the path must be like /instances/inst_…, with encoded segments and without a query, not ` +
      JSON.stringify(path),
  );
}
