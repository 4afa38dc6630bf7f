import { digestOf } from '#accounts/api-key';
import { type User, withDevice } from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import { type Cookies, originOf, type Visit } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { type LiveSession, type LiveSessions, VALUE_LENGTH } from '#console/people/live-sessions';
import type { Passwords } from '#console/people/passwords';
import type { SecondFactors } from '#console/people/second-factors';
import { type CountedTry, type FailureTrail, SignInThrottle } from '#console/people/throttle';
import { Fault, faultFor, toFault } from '#fault/fault';
import type { StoredUser, UserStore } from '#storage/ports/people';

/** How a sign-in goes on, and the cookies that it sets. */
export type SignedIn = {
  readonly state: 'signed_in' | 'second_factor';
  readonly cookies: readonly string[];
};

/** What is tried with an email: a password, or a code of the second factor. */
type Step = 'password' | 'second_factor';

/** Passwords: who comes from elsewhere waits 10 s at most. Chosen. */
const PASSWORD_TRIES = { free: 10, emailWaitMsMax: 10_000 } as const;

/** A million codes, three of them right at any time: guessing one takes years at this pace. Chosen. */
const CODE_TRIES = { free: 10, emailWaitMsMax: 300_000 } as const;

/** The cookie by which a browser is known. */
type Device = { readonly value: string; readonly digest: string; readonly isNew: boolean };

/** What a person signs in with: `accountId` names the account that made the user, if one did. */
type Credentials = {
  readonly email: string;
  readonly accountId: string | undefined;
  readonly password: string;
};

type SignInParts = Pick<
  ConsolePorts,
  'users' | 'sessions' | 'members' | 'clock' | 'randomness' | 'metrics'
> & {
  readonly audit: ConsoleAudit;
  readonly live: LiveSessions;
  readonly passwords: Passwords;
  readonly secondFactors: SecondFactors;
  readonly cookies: Cookies;
  readonly trail: FailureTrail;
};

/** How people show who they are. Source: decision 246. */
export class SignIn {
  readonly #parts: SignInParts;
  readonly #throttles: Readonly<Record<Step, SignInThrottle>>;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#throttles = {
      password: new SignInThrottle(parts.clock, PASSWORD_TRIES),
      second_factor: new SignInThrottle(parts.clock, CODE_TRIES),
    };
  }

  /**
   * Signs in by email and password. Throws 401 for a wrong one and for an email without a user, the
   * same and in the same time, and 429 for a try that comes too early.
   */
  async byPassword({ email, accountId, password }: Credentials, visit: Visit): Promise<SignedIn> {
    const { users, members, trail } = this.#parts;
    // Both are looked up each time, so that the time says nothing of either.
    const [own, plain] = await Promise.all([
      accountId === undefined ? undefined : users.findByEmail(email, accountId),
      users.findByEmail(email),
    ]);
    const found = own ?? plain;
    if (!(await this.#isRight(email, found, password, visit))) {
      trail.failed(found?.user, visit);
      throw faultFor('wrong_credentials', 'email and password do not belong together');
    }
    if (found === undefined) throw new Error('a password is right of some user only');
    const [membership] = await members.accountsOf(found.user.id);
    if (membership === undefined) {
      throw faultFor('no_account', 'you are no member of any account: ask for an invitation');
    }
    return await this.enter(found, membership.accountId, password, visit);
  }

  /** Begins a session of a user whose password was right, and whose code was if it `isProven`. What the browser had before is ended. */
  async enter(
    found: StoredUser,
    accountId: string,
    password: string,
    visit: Visit,
    isProven = false,
  ): Promise<SignedIn> {
    const { live, audit, cookies } = this.#parts;
    const { user } = found;
    const isWhole = isProven || user.secondFactor?.state !== 'active';
    const device = isWhole ? this.#deviceOf(user, visit) : undefined;
    const actor = { kind: 'user', id: user.id } as const;
    const authenticatedBy = isProven ? 'password+totp' : 'password';
    const factor = isProven ? 'shown' : isWhole ? 'none' : 'missing';
    const after = { authenticated_by: authenticatedBy, second_factor: factor };
    const line = { accountId, actor, ...originOf(visit), action: 'session.begin', after } as const;
    const value = await audit.around(line, async () => {
      const stored = await this.#renewed(found, password, device);
      const begun = await live.begin({ stored, accountId, authenticatedBy }, visit);
      await this.#endShown(visit);
      return begun;
    });
    const set = device === undefined ? [] : [cookies.device(device.value)];
    return {
      state: isWhole ? 'signed_in' : 'second_factor',
      cookies: [cookies.session(value), ...set],
    };
  }

  /** The user with a new browser, and with a hash of the password as it is made today. */
  async #renewed(
    found: StoredUser,
    password: string,
    device: Device | undefined,
  ): Promise<StoredUser> {
    const { users, passwords } = this.#parts;
    const { user } = found;
    const passwordHash = await passwords.renewed(user.passwordHash, password);
    if (passwordHash === undefined && device?.isNew !== true) return found;
    return await changedUser(users, found, (now) => {
      const isSame = now.credentialsVersion === user.credentialsVersion;
      if (!isSame) throw faultFor('wrong_credentials', 'the password was changed just now');
      const renewed = passwordHash === undefined ? now : { ...now, passwordHash };
      return device === undefined ? renewed : withDevice(renewed, device.digest);
    });
  }

  /** A try at a code by who is signed in already. Throws 429 while there must be no other one. */
  codeTry(
    user: User,
    visit: Visit,
  ): { readonly succeeded: () => void; readonly failed: () => void } {
    const counted = this.#begin('second_factor', user.email, user, visit);
    return {
      succeeded: () => counted.succeeded(),
      failed: () => {
        this.#count('second_factor', 'wrong');
        this.#parts.trail.failed(user, visit);
      },
    };
  }

  /** Goes on with a code of the second factor, or one for recovery. Throws 401 for a wrong one. */
  async bySecondFactor(code: string, visit: Visit): Promise<SignedIn> {
    const { users, live, audit, cookies, secondFactors, trail } = this.#parts;
    const { stored, session } = await this.#halfWay(visit);
    const { user } = stored;
    const counted = this.#begin('second_factor', user.email, user, visit);
    const used = secondFactors.used(code);
    if (used(user) === undefined) {
      this.#count('second_factor', 'wrong');
      trail.failed(user, visit);
      throw wrongCode();
    }
    const actor = { kind: 'user', id: user.id } as const;
    const { accountId } = session;
    const device = this.#deviceOf(user, visit);
    const line = { accountId, actor, ...originOf(visit), action: 'session.second_factor' } as const;
    const value = await audit.around(line, async () => {
      const next = await changedUser(users, stored, (now) => {
        const after = used(now);
        if (after === undefined) throw wrongCode();
        return withDevice(after, device.digest);
      });
      counted.succeeded();
      this.#count('second_factor', 'right');
      return await live.begin(
        { stored: next, accountId, authenticatedBy: 'password+totp', from: session },
        visit,
      );
    });
    return { state: 'signed_in', cookies: [cookies.session(value), cookies.device(device.value)] };
  }

  /** Has a user who is signed in show the password again. Throws 403 for a wrong one. */
  async confirm({ stored }: LiveSession, password: string, visit: Visit): Promise<void> {
    const { user } = stored;
    if (await this.#isRight(user.email, stored, password, visit)) return;
    this.#parts.trail.failed(user, visit);
    throw faultFor('wrong_password', 'this is not your password', { field: 'password' });
  }

  /**
   * The user once a code of the second factor is used. Throws 401 for a wrong one, and
   * `second_factor_needed` where the user has a second factor and there is no code.
   */
  async proven(stored: StoredUser, code: string | undefined, visit: Visit): Promise<StoredUser> {
    const { users, secondFactors } = this.#parts;
    if (stored.user.secondFactor?.state !== 'active') return stored;
    if (code === undefined) {
      throw faultFor('second_factor_needed', 'a code of the second factor is missing');
    }
    const tried = this.codeTry(stored.user, visit);
    const used = secondFactors.used(code);
    if (used(stored.user) === undefined) {
      tried.failed();
      throw wrongCode();
    }
    const next = await changedUser(users, stored, (user) => {
      const after = used(user);
      if (after === undefined) throw wrongCode();
      return after;
    });
    tried.succeeded();
    return next;
  }

  /** Whether a password is that of a user; the try counts. */
  async isRight(stored: StoredUser, password: string, visit: Visit): Promise<boolean> {
    return await this.#isRight(stored.user.email, stored, password, visit);
  }

  async #isRight(
    email: string,
    found: StoredUser | undefined,
    password: string,
    visit: Visit,
  ): Promise<boolean> {
    const counted = this.#begin('password', email, found?.user, visit);
    const isRight = await this.#parts.passwords.isRight(found?.user.passwordHash, password);
    if (isRight) counted.succeeded();
    this.#count('password', isRight ? 'right' : 'wrong');
    return isRight;
  }

  #begin(step: Step, email: string, user: User | undefined, visit: Visit): CountedTry {
    const deviceDigest = deviceDigestOf(user, visit);
    try {
      return this.#throttles[step].begin({ email, address: visit.address, deviceDigest });
    } catch (error) {
      this.#count(step, 'too_early');
      throw error;
    }
  }

  #count(step: Step, outcome: 'right' | 'wrong' | 'too_early'): void {
    this.#parts.metrics.counter('console_sign_ins_total').labels({ step, outcome }).inc();
  }

  async #halfWay({ shown }: Visit): Promise<LiveSession> {
    const half = await this.#parts.live.find(shown.session);
    if (half?.worth === 'second_factor') return half;
    throw faultFor('sign_in_needed', 'sign in with email and password first');
  }

  /** The cookie of a browser: the one that it shows, if it is one of this user. */
  #deviceOf(user: User, visit: Visit): Device {
    const { device } = visit.shown;
    const digest = deviceDigestOf(user, visit);
    if (digest !== undefined && device !== undefined)
      return { value: device, digest, isNew: false };
    const value = this.#parts.randomness.base62(VALUE_LENGTH);
    return { value, digest: digestOf(value), isNew: true };
  }

  /** A browser has one session: the value that it came with is worth nothing any more. */
  async #endShown({ shown }: Visit): Promise<void> {
    const { live, sessions } = this.#parts;
    const earlier = await live.find(shown.session);
    if (earlier === undefined) return;
    await sessions.end(earlier.session.userId, [earlier.session.digest]);
  }
}

function wrongCode() {
  return faultFor('wrong_code', 'this code is wrong, or was used before');
}

/** The digest of the cookie of a browser that has signed in as this user; undefined: it has not. */
export function deviceDigestOf(user: User | undefined, { shown }: Visit): string | undefined {
  if (shown.device === undefined) return undefined;
  const digest = digestOf(shown.device);
  return user?.deviceDigests.includes(digest) ? digest : undefined;
}

/** Tries of a change that others get in front of: of one person there are few at once. */
const TRIES_MAX = 4;

/**
 * Changes a user as `next` makes of them, again of what is found when others got in front. What `next`
 * throws ends it, and so decides by what is stored in the end. Rejects with `conflict` for a user that
 * is gone.
 */
export async function changedUser(
  users: UserStore,
  stored: StoredUser,
  next: (user: User) => User,
): Promise<StoredUser> {
  let current = stored;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const wanted = next(current.user);
    try {
      return await users.replace(current, wanted);
    } catch (error) {
      if (toFault(error).code !== 'conflict') throw error;
    }
    const found = await users.find(current.user.id);
    if (found === undefined) throw new Fault('conflict', 'this user is gone');
    current = found;
  }
  throw new Fault('service_unavailable', 'the user is being changed by others', { retryAfterS: 1 });
}
