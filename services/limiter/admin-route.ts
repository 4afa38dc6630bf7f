import type { z } from 'zod';
import type { Creator } from '#accounts/creator';
import { invalid } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';

/** A request to the admin port, read whole. */
export type AdminRequest = {
  readonly method: string;
  readonly url: URL;
  /** The parsed JSON body; undefined if there was none. */
  readonly body: unknown;
  /** Who asks, as records of what is made keep it. */
  readonly by: Creator;
};

/** What changes something has a name for the log, or does not compile. */
type SideEffect =
  | { readonly method: 'GET'; readonly change?: undefined }
  | { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly change: string };

/** One route of the admin port. */
export type Route = SideEffect & {
  /** Groups are the ids in the path. */
  readonly path: RegExp;
  readonly answer: (
    admin: AccountAdmin,
    request: AdminRequest,
    ids: { account: string; key: string },
    nowMs: number,
  ) => Promise<unknown>;
};

/** `value` as the schema reads it; throws `invalid_request` that names the first wrong field. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  reason: 'wrong_type' | 'invalid_parameter' = 'wrong_type',
): z.infer<Schema> {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') || undefined;
  const text = issue?.message ?? 'the request is not what this route takes';
  throw invalid(reason, field, field === undefined ? text : `${field}: ${text}`);
}
