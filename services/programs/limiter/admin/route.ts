import type { z } from 'zod';
import type { Creator } from '#accounts/account';
import { type AuditEntry, detailsOf } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';
import type { FaultCode } from '#errors/error-codes';
import { invalid, toFault } from '#errors/fault';
import type { AccountAdmin } from '#limiter/admin/accounts';

/** A request to the admin port, with its complete body. */
export type AdminRequest = {
  readonly method: string;
  readonly url: URL;
  /** Parsed JSON body; undefined: no body. */
  readonly body: unknown;
  /** The requester, for the creator field in new records. */
  readonly by: Creator;
};

/** A route's method. The type requires a log name for each changing route. */
type SideEffect =
  | { readonly method: 'GET'; readonly change?: undefined }
  | { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly change: string };

/** An admin port route. */
export type Route = SideEffect & {
  /** Path pattern. Named groups are ids. */
  readonly path: RegExp;
  readonly answer: (
    admin: AccountAdmin,
    request: AdminRequest,
    ids: { account: string; key: string },
    nowMs: number,
  ) => Promise<unknown>;
};

/** Parses `value` by the schema. Throws `invalid_request` with the first invalid field. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  reason: 'wrong_type' | 'invalid_parameter' = 'wrong_type',
): z.infer<Schema> {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') || undefined;
  const text = issue?.message ?? 'the request does not match this route';
  throw invalid(reason, field, field === undefined ? text : `${field}: ${text}`);
}

/** Header with the `ctl` user's name. */
export const ADMIN_USER_HEADER = 'x-admin-user';

/** Accepted user name pattern. */
export const USER_NAME = /^[\w.@+\\-]{1,64}$/;

/** An admin request's sender, as far as known. */
export type Administrator = {
  /** Token id in the request; see `adminTokenId`. */
  readonly tokenId: string;
  /** User name sent by `ctl`, not authenticated. */
  readonly claimedUser: string | undefined;
  /** The sender's `address:port`. */
  readonly address: string;
};

/** A change requested through the admin port, with its outcome. */
type AdminChange = {
  /** Change name, such as `account.create` or `key.revoke`. */
  readonly change: string;
  readonly accountId: string | undefined;
  readonly keyId: string | undefined;
  /** Request body, if valid. Never contains a key. */
  readonly requested: unknown;
  /** `done`, or the refusal's code. After `service_unavailable` the change may have happened. */
  readonly outcome: 'done' | FaultCode;
};

/** Called after each change, successful or refused. */
export type AdminAudit = (change: AdminChange, by: Administrator) => void;

/** A change before execution. */
type IntendedChange = Pick<AdminChange, 'change' | 'accountId' | 'keyId' | 'requested'> & {
  /** Present state as shown by the admin port; undefined if the target is missing or is a list. */
  readonly before: Shown | undefined;
};

/** JSON object shown by the admin port. */
type Shown = Readonly<Record<string, unknown>>;

/**
 * Appends an audit line, executes a change, and appends a line with the outcome. Returns the result
 * of the change.
 */
export type MakeChange = <Made>(
  intended: IntendedChange,
  act: () => Promise<Made>,
) => Promise<Made>;

/**
 * Executes changes with lines in the account's audit trail (decision 249), and reports each outcome
 * to `heard`. An unknown account has no trail, so its refused change is only reported.
 */
export function makerOf(trail: AuditTrail, heard: AdminAudit, by: Administrator): MakeChange {
  return async (intended, act) => {
    const { before, ...named } = intended;
    const { change: action, accountId, keyId } = named;
    const { tokenId: id, claimedUser: name, address } = by;
    const entry = { actor: { kind: 'operator' as const, id, name }, address, action };
    const target = keyId ?? accountId;
    const isThere = accountId !== undefined && before !== undefined;
    try {
      const made = isThere
        ? await trail.around(accountId, { ...entry, target, before: data(before) }, act, (made) => {
            return { target: keyId ?? newKeyIn(action, made) ?? accountId, after: data(made) };
          })
        : await act();
      heard({ ...named, keyId: keyId ?? newKeyIn(action, made), outcome: 'done' }, by);
      return made;
    } catch (error) {
      // A refused request's body may be invalid, so do not log it.
      heard({ ...named, requested: undefined, outcome: toFault(error).code }, by);
      throw error;
    }
  };
}

/** View details; undefined for a list, which the trail does not record. */
function data(shown: unknown): AuditEntry['after'] {
  const isObject = typeof shown === 'object' && shown !== null && !Array.isArray(shown);
  return isObject ? detailsOf(shown) : undefined;
}

function newKeyIn(action: string, made: unknown): string | undefined {
  if (!action.startsWith('key.')) return undefined;
  const shown: { readonly id?: unknown } = typeof made === 'object' && made ? made : {};
  return typeof shown.id === 'string' ? shown.id : undefined;
}
