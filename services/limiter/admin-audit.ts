import type { FaultCode } from '#fault/fault';

/** Header in which `ctl` says for which user it runs. */
export const ADMIN_USER_HEADER = 'x-admin-user';

/** What is believed to be the name of a user. */
export const USER_NAME = /^[\w.@+\\-]{1,64}$/;

/** Who asked the admin port for something, as far as is known. */
export type Administrator = {
  /** Names the token that was shown; see `adminTokenId`. */
  readonly tokenId: string;
  /** The user that `ctl` says it runs for. Nobody has proven it. */
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
  /** What it was changed to; absent where nothing was. Never a key. */
  readonly wish: unknown;
  /** Anything but `done` is a refusal; after `service_unavailable` it may have happened. */
  readonly outcome: 'done' | FaultCode;
};

/** Hears of every change when it is done or refused. */
export type AdminAudit = (change: AdminChange, by: Administrator) => void;
