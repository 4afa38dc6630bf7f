import { IdentityEngineError } from '../errors.ts';
import { LONE_SURROGATE } from '../lone-surrogate.ts';
import type { CallOptions } from './call-options.ts';

/**
 * Retry policy after a failed attempt:
 * - `always`: the call is read-only, or its idempotency key makes retries safe;
 * - `if_nothing_happened`: only if the attempt certainly changed nothing;
 * - `until_deleted`: like `always`; a 404 after an attempt with unknown outcome means success.
 */
export type Repeatable = 'always' | 'if_nothing_happened' | 'until_deleted';

/** HTTP method of a call. The reference shows this type, so it names the methods itself. */
export type RequestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** All HTTP methods of calls. */
export const METHODS: readonly RequestMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** An API call before it is sent. */
export type Call = {
  readonly method: RequestMethod;
  /** Path below `/v1`, encoded. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Request body, sent as JSON. */
  readonly body?: unknown;
  /** Headers in addition to the standard headers. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly repeatable: Repeatable;
  /** Whether the call may change state in the service. */
  readonly isChange: boolean;
  /** Whether a 204 without a body is a success. Always the case for a DELETE. */
  readonly mayBeEmpty?: boolean;
  readonly options: CallOptions;
};

/** Query parameters; undefined values are left out. */
type Query = object;

/** Path with query. Throws an `IdentityEngineError` for text that is not valid Unicode. */
export function targetOf({ path, query }: Pick<Call, 'path' | 'query'>): string {
  if (query === undefined) return path;
  const pairs = Object.entries(query as Record<string, unknown>)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, String(value)]);
  for (const [name, value] of pairs) {
    if (!LONE_SURROGATE.test(name + value)) continue;
    throw new IdentityEngineError(`the parameter ${name} has a lone surrogate`);
  }
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}
