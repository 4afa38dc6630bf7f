import type { FaultCode } from '#fault/error-codes';

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
export type AdminChange = {
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
