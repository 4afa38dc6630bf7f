import type { z } from 'zod';
import type { Creator } from '#accounts/account';
import { type AuditEntry, detailsOf } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';
import type { FaultCode } from '#errors/error-codes';
import { invalid, toFault } from '#errors/fault';
import type { AccountAdmin } from '#limiter/admin/accounts';

/** A request to the admin port, with its whole body. */
export type AdminRequest = {
  readonly method: string;
  readonly url: URL;
  /** The parsed JSON body; undefined without a body. */
  readonly body: unknown;
  /** The requester, as stored in the records that the request creates. */
  readonly by: Creator;
};

/** Method of a route. The type forces every changing route to have a name for the log. */
type SideEffect =
  | { readonly method: 'GET'; readonly change?: undefined }
  | { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly change: string };

/** One route of the admin port. */
export type Route = SideEffect & {
  /** The path. Named groups are the ids in it. */
  readonly path: RegExp;
  readonly answer: (
    admin: AccountAdmin,
    request: AdminRequest,
    ids: { account: string; key: string },
    nowMs: number,
  ) => Promise<unknown>;
};

/** `value` parsed by the schema. Throws `invalid_request` with the first invalid field. */
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

/** Header in which `ctl` sends the name of its user. */
export const ADMIN_USER_HEADER = 'x-admin-user';

/** Pattern of accepted user names. */
export const USER_NAME = /^[\w.@+\\-]{1,64}$/;

/** The sender of an admin request, as far as known. */
export type Administrator = {
  /** Id of the presented token; see `adminTokenId`. */
  readonly tokenId: string;
  /** The user name that `ctl` sent. Not proven. */
  readonly claimedUser: string | undefined;
  /** `address:port` of the connection. */
  readonly address: string;
};

/** A requested change over the admin port, with its outcome. */
type AdminChange = {
  /** Name of the change, such as `account.create` or `key.revoke`. */
  readonly change: string;
  readonly accountId: string | undefined;
  readonly keyId: string | undefined;
  /** The request's body, if valid. Never contains a key. */
  readonly requested: unknown;
  /**
   * Values other than `done` are refusals. After `service_unavailable` the change may have
   * happened.
   */
  readonly outcome: 'done' | FaultCode;
};

/** Called after every change, successful or refused. */
export type AdminAudit = (change: AdminChange, by: Administrator) => void;

/** A change before it is made. */
type IntendedChange = Pick<AdminChange, 'change' | 'accountId' | 'keyId' | 'requested'> & {
  /**
   * Present state as the admin port shows it; undefined if the target does not exist or is a list.
   */
  readonly before: Shown | undefined;
};

/** JSON object that the admin port shows. */
type Shown = Readonly<Record<string, unknown>>;

/** Makes a change between its two audit lines, and answers the change's result. */
export type MakeChange = <Made>(
  intended: IntendedChange,
  act: () => Promise<Made>,
) => Promise<Made>;

/**
 * Makes changes with lines in the audit trail of their account (decision 249) and reports each
 * outcome to `heard`. An unknown account has no trail: its change is refused and only reported.
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
      // A refused request's body may be invalid: do not log it.
      heard({ ...named, requested: undefined, outcome: toFault(error).code }, by);
      throw error;
    }
  };
}

/** Details of a view; undefined for a list, which is not recorded. */
function data(shown: unknown): AuditEntry['after'] {
  const isObject = typeof shown === 'object' && shown !== null && !Array.isArray(shown);
  return isObject ? detailsOf(shown) : undefined;
}

function newKeyIn(action: string, made: unknown): string | undefined {
  if (!action.startsWith('key.')) return undefined;
  const shown: { readonly id?: unknown } = typeof made === 'object' && made ? made : {};
  return typeof shown.id === 'string' ? shown.id : undefined;
}
