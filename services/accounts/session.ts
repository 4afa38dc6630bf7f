import type { User } from '#accounts/user';

/** How a session's user has shown who they are. */
export type Authentication = 'password' | 'password+totp';

/** One browser that is signed in. Its value is known to that browser alone. Source: decision 245. */
export type Session = {
  /** SHA-256 of the cookie's value, base64url. */
  readonly digest: string;
  readonly userId: string;
  /** The account that is looked at; another one is another session. */
  readonly accountId: string;
  readonly authenticatedBy: Authentication;
  /** That of the user when the session began; a later one ends it. */
  readonly credentialsVersion: number;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  /** Where it began: address and what the browser calls itself. */
  readonly address: string;
  readonly client: string;
};

/** How long a session lives without a request, in milliseconds. Source: decision 245. */
const SESSION_IDLE_MS = 30 * 60_000;

/** How long a session lives at most, in milliseconds. Source: decision 245. */
export const SESSION_MS_MAX = 12 * 60 * 60_000;

/** How long a password counts while the second factor is missing, in milliseconds. */
const SECOND_FACTOR_MS_MAX = 5 * 60_000;

/** How stale `lastSeenAtMs` may get before it is written again, in milliseconds. */
const SESSION_SEEN_MS = 60_000;

/** What a session is worth: all, nothing but the way to the second factor, or nothing. */
export type SessionWorth = 'full' | 'second_factor' | 'over';

/**
 * What a session of this user is worth at `nowMs`. A user who turns the second factor on takes it from
 * every session that has not shown it.
 */
export function worthOf(session: Session, user: User, nowMs: number): SessionWorth {
  const { createdAtMs, lastSeenAtMs, authenticatedBy, credentialsVersion } = session;
  if (session.userId !== user.id || credentialsVersion !== user.credentialsVersion) return 'over';
  const ageMs = nowMs - createdAtMs;
  if (ageMs >= SESSION_MS_MAX || nowMs - lastSeenAtMs >= SESSION_IDLE_MS) return 'over';
  const isFull = user.secondFactor?.state !== 'active' || authenticatedBy === 'password+totp';
  if (isFull) return 'full';
  return ageMs < SECOND_FACTOR_MS_MAX ? 'second_factor' : 'over';
}

/** Whether the time of the last request is to be written at `nowMs`. */
export function isSeenDue({ lastSeenAtMs }: Session, nowMs: number): boolean {
  return nowMs - lastSeenAtMs >= SESSION_SEEN_MS;
}
