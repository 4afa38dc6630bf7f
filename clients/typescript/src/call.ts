import type { CallOptions } from './call-options.ts';
import { IdentityEngineError } from './errors.ts';
import { LONE_SURROGATE } from './lone-surrogate.ts';

/**
 * When a call may be sent again after an attempt that failed:
 * - `always`: it changes nothing, or its idempotency key makes it count once;
 * - `if_nothing_happened`: only when the attempt certainly changed nothing;
 * - `until_deleted`: like `always`, and a 404 after an unclear attempt means that it is done.
 */
export type Repeatable = 'always' | 'if_nothing_happened' | 'until_deleted';

/** One call of the interface, before it is sent. */
export type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below `/v1`, encoded. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly repeatable: Repeatable;
  /** Whether the service may change something by it. */
  readonly isChange: boolean;
  readonly options: CallOptions;
};

/** Query parameters; those that are undefined are left out. */
type Query = object;

/** The path with its query. Throws an `IdentityEngineError` for text that UTF-8 cannot say. */
export function targetOf({ path, query }: Call): string {
  if (query === undefined) return path;
  const pairs = Object.entries(query as Record<string, unknown>)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, String(value)]);
  for (const [name, value] of pairs) {
    if (!LONE_SURROGATE.test(value)) continue;
    throw new IdentityEngineError(`the parameter ${name} has a lone surrogate`);
  }
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}
