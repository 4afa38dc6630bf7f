import { digestOf } from '#accounts/api-key';
import {
  type Authentication,
  isSeenDue,
  type Membership,
  type Session,
  type SessionWorth,
  worthOf,
} from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import { CLIENT_LENGTH_MAX, type Visit } from '#console/app/visit';
import { RequestRates } from '#console/usage/instance-usage';
import { faultFor, toFault } from '#errors/fault';
import { SESSIONS_MAX, type StoredUser } from '#storage/ports/people';

/** Length of a random value: 43 characters of base62 are 256 bits. Source: decision 245. */
export const VALUE_LENGTH = 43;

const COOKIE = /^(?<userId>usr_[0-9a-f]{16})\.[0-9A-Za-z]{43}$/;

/** Length of a session's public id, a prefix of its digest. The digest is not secret. */
const SESSION_ID_LENGTH = 16;

/** A valid session and its user. */
export type LiveSession = {
  readonly stored: StoredUser;
  readonly session: Session;
  readonly worth: Exclude<SessionWorth, 'over'>;
};

/** A signed-in user, with session and membership. */
export type Caller = LiveSession & { readonly membership: Membership };

/** Data for a new session. */
type Beginning = {
  readonly stored: StoredUser;
  readonly accountId: string;
  readonly authenticatedBy: Authentication;
  /** Session to replace, if any. */
  readonly from?: Session | undefined;
  /** Time of the sign-in in Unix milliseconds. Undefined means now. */
  readonly createdAtMs?: number | undefined;
};

type SessionPorts = Pick<
  ConsolePorts,
  'users' | 'sessions' | 'members' | 'clock' | 'randomness' | 'accountNews'
>;

/** Returns the public id of a session, for lists and audit lines. */
export function sessionIdOf({ digest }: Session): string {
  return `ses_${digest.slice(0, SESSION_ID_LENGTH)}`;
}

/**
 * Sessions of browsers. A cookie holds the user id and 256 random bits; the store has only the
 * digest of the cookie. Every step that changes the session's rights replaces the cookie. Source:
 * decision 245.
 */
export class LiveSessions {
  readonly #ports: SessionPorts;
  /** Request rate limits, with and without a session. */
  readonly rates: RequestRates;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
    this.rates = new RequestRates(ports.clock);
  }

  /**
   * Finds a cookie's session. Undefined if there is no valid session. Updates the last-seen time if
   * `isUse` is true.
   */
  async find(cookie: string | undefined, isUse = true): Promise<LiveSession | undefined> {
    const { userId } = COOKIE.exec(cookie ?? '')?.groups ?? {};
    if (cookie === undefined || userId === undefined) return undefined;
    const { users, sessions, clock } = this.#ports;
    const [stored, session] = await Promise.all([
      users.find(userId),
      sessions.find(userId, digestOf(cookie)),
    ]);
    if (stored === undefined || session === undefined) return undefined;
    const nowMs = clock.wallMs();
    const worth = worthOf(session, stored.user, nowMs);
    if (worth === 'over') return undefined;
    if (!isUse || !isSeenDue(session, nowMs)) return { stored, session, worth };
    await sessions.touch(session, nowMs);
    return { stored, session: { ...session, lastSeenAtMs: nowMs }, worth };
  }

  /**
   * Returns the signed-in member. Throws 401 without a session, and while the second factor is
   * missing. Automatic requests of a page set `isUse` to false, so that they do not extend the
   * session.
   */
  async callerOf({ shown }: Visit, isUse = true): Promise<Caller> {
    const live = await this.find(shown.session, isUse);
    if (live === undefined) throw signInNeeded();
    if (live.worth === 'second_factor') {
      throw faultFor('second_factor_needed', 'enter a code of the second factor');
    }
    const { members } = await this.#ports.members.find(live.session.accountId);
    const membership = members.find(({ userId }) => userId === live.stored.user.id);
    if (membership === undefined) throw signInNeeded();
    return { ...live, membership };
  }

  /**
   * Begins a session and returns its cookie value. Ends the oldest sessions beyond `SESSIONS_MAX`.
   * Throws 401 if the session to replace has ended.
   */
  async begin(beginning: Beginning, visit: Visit): Promise<string> {
    const { sessions, clock, randomness } = this.#ports;
    const { stored, accountId, authenticatedBy, from, createdAtMs } = beginning;
    const { id: userId, credentialsVersion } = stored.user;
    const value = `${userId}.${randomness.base62(VALUE_LENGTH)}`;
    const nowMs = clock.wallMs();
    const { address } = visit;
    const session: Session = {
      ...{ digest: digestOf(value), userId, accountId, authenticatedBy, credentialsVersion },
      ...{ createdAtMs: createdAtMs ?? nowMs, lastSeenAtMs: nowMs, address },
      client: visit.client.slice(0, CLIENT_LENGTH_MAX),
    };
    if (from === undefined) await sessions.create(session);
    else await this.#renew(from, session);
    await this.#trim(stored, session);
    return value;
  }

  /** A user's valid sessions, newest first. */
  async listOf({ user }: StoredUser): Promise<Session[]> {
    const { sessions, clock } = this.#ports;
    const all = await sessions.listOf(user.id);
    return all
      .filter((session) => worthOf(session, user, clock.wallMs()) !== 'over')
      .toSorted((a, b) => b.lastSeenAtMs - a.lastSeenAtMs);
  }

  /** Ends all sessions of a user except the session with `keptDigest`. */
  async endOthers(stored: StoredUser, keptDigest: string | undefined): Promise<void> {
    const all = await this.#ports.sessions.listOf(stored.user.id);
    await this.end(
      stored,
      all.filter(({ digest }) => digest !== keptDigest),
    );
  }

  /** Ends sessions of a user, and closes the event streams of these sessions in every console. */
  async end({ user }: StoredUser, ended: readonly Session[]): Promise<void> {
    const { sessions, clock } = this.#ports;
    await sessions.end(
      user.id,
      ended.map(({ digest }) => digest),
    );
    const nowMs = clock.wallMs();
    // A session that has been over for some time has no open stream.
    const isRecent = (session: Session) => {
      const { credentialsVersion } = session;
      return worthOf(session, { ...user, credentialsVersion }, nowMs) !== 'over';
    };
    const accounts = new Set(ended.filter(isRecent).map(({ accountId }) => accountId));
    for (const accountId of accounts) this.closeStreams(accountId, user.id);
  }

  /**
   * Closes the event streams of a member in an account, in every console. Called after the member lost
   * rights: a stream is refused when it reconnects. Streams that may go on reconnect by themselves.
   */
  closeStreams(accountId: string, userId: string): void {
    this.#ports.accountNews?.announce(accountId, userId);
  }

  async #renew(from: Session, session: Session): Promise<void> {
    try {
      await this.#ports.sessions.renew(from.digest, session);
    } catch (error) {
      throw toFault(error).code === 'conflict' ? signInNeeded() : error;
    }
  }

  /** Ends sessions without rights, for example after a new password, and excess sessions. */
  async #trim(stored: StoredUser, newest: Session): Promise<void> {
    const { sessions, clock } = this.#ports;
    const { user } = stored;
    const others = (await sessions.listOf(user.id)).filter(
      ({ digest }) => digest !== newest.digest,
    );
    const isOver = (session: Session) => worthOf(session, user, clock.wallMs()) === 'over';
    const kept = others
      .filter((session) => !isOver(session))
      .toSorted((a, b) => b.lastSeenAtMs - a.lastSeenAtMs)
      .slice(0, SESSIONS_MAX - 1);
    await this.end(
      stored,
      others.filter((session) => !kept.includes(session)),
    );
  }
}

/** Fault for a request without a valid session. */
function signInNeeded() {
  return faultFor('sign_in_needed', 'sign in first');
}
