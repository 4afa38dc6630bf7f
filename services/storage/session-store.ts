import type { Session } from '#accounts/session';

/** Sessions of one user that are read at once; more are ended by a sign-in. Chosen. */
export const SESSIONS_MAX = 30;

/**
 * Sessions of the console, by user and digest. A session is gone for good 12 h after it was made
 * (`SESSION_MS_MAX`) at the latest; a reader looks at its times all the same. Durability and
 * faults are those of `UserStore`. Source: decision 245.
 */
export interface SessionStore {
  /** Adds a session. Rejects with `conflict` if there is one with its digest. */
  create(session: Session): Promise<void>;

  /** A user's session; undefined if there is none. */
  find(userId: string, digest: string): Promise<Session | undefined>;

  /** All sessions of a user, in no order. */
  listOf(userId: string): Promise<Session[]>;

  /** Notes when a session was last seen. One that has ended stays ended. */
  touch(session: Session, lastSeenAtMs: number): Promise<void>;

  /**
   * Puts a session in the place of another one of the same user, as one step. Rejects with `conflict`
   * if that one has ended: nothing changes.
   */
  renew(wasDigest: string, session: Session): Promise<void>;

  /** Ends sessions of a user; those that have ended are passed over. */
  end(userId: string, digests: readonly string[]): Promise<void>;
}
