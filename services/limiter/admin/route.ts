import type { z } from 'zod';
import type { Creator } from '#accounts/account';
import { type AuditEntry, detailsOf } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';
import type { FaultCode } from '#fault/error-codes';
import { invalid, toFault } from '#fault/fault';
import type { AccountAdmin } from '#limiter/admin/accounts';

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

/** Header in which `ctl` says for which user it runs. */
export const ADMIN_USER_HEADER = 'x-admin-user';

/** What is accepted as the name of a user. */
export const USER_NAME = /^[\w.@+\\-]{1,64}$/;

/** Who asked the admin port for something, as far as is known. */
export type Administrator = {
  /** Names the token that was shown; see `adminTokenId`. */
  readonly tokenId: string;
  /** The user that `ctl` says it runs for. Not proven. */
  readonly claimedUser: string | undefined;
  /** `address:port` of the connection. */
  readonly address: string;
};

/** A change that was asked for over the admin port, and what became of it. */
type AdminChange = {
  /** `account.create`, `key.revoke`. */
  readonly change: string;
  readonly accountId: string | undefined;
  readonly keyId: string | undefined;
  /** The body of the request, where it was understood. Never a key. */
  readonly requested: unknown;
  /** Anything but `done` is a refusal; after `service_unavailable` it may have happened. */
  readonly outcome: 'done' | FaultCode;
};

/** Called for every change when it is done or refused. */
export type AdminAudit = (change: AdminChange, by: Administrator) => void;

/** What is about to be changed. */
type IntendedChange = Pick<AdminChange, 'change' | 'accountId' | 'keyId' | 'requested'> & {
  /** As the admin port shows it; undefined: it is not there, or is a list. */
  readonly before: Shown | undefined;
};

/** A view of the admin port: JSON data. */
type Shown = Readonly<Record<string, unknown>>;

/** Makes a change between its two lines, and answers what it answers. */
export type MakeChange = <Made>(
  intended: IntendedChange,
  act: () => Promise<Made>,
) => Promise<Made>;

/**
 * Makes changes with their lines in the audit trail of their account (decision 249) and hears of their
 * outcomes. One whose account does not exist has no trail: it is refused, and only heard of.
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
      // What was requested is logged only where it was understood.
      heard({ ...named, requested: undefined, outcome: toFault(error).code }, by);
      throw error;
    }
  };
}

/** Of a list nothing is kept. */
function data(shown: unknown): AuditEntry['after'] {
  const isObject = typeof shown === 'object' && shown !== null && !Array.isArray(shown);
  return isObject ? detailsOf(shown) : undefined;
}

function newKeyIn(action: string, made: unknown): string | undefined {
  if (!action.startsWith('key.')) return undefined;
  const shown: { readonly id?: unknown } = typeof made === 'object' && made ? made : {};
  return typeof shown.id === 'string' ? shown.id : undefined;
}
