import { digestOf } from '#accounts/api-key';
import { type User, withDevice } from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import { type Cookies, originOf, type Visit } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { type LiveSession, type LiveSessions, VALUE_LENGTH } from '#console/people/live-sessions';
import type { Passwords } from '#console/people/passwords';
import type { SecondFactors } from '#console/people/second-factors';
import {
  type CountedTry,
  type FailureTrail,
  SignInThrottle,
} from '#console/people/sign-in-throttle';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { StoredUser, UserStore } from '#storage/ports/people';

/** State after a sign-in step, and the cookies to set. */
export type SignedIn = {
  readonly state: 'signed_in' | 'second_factor';
  readonly cookies: readonly string[];
};

/** Credential to check for an email: a password, or a code of the second factor. */
type Step = 'password' | 'second_factor';

/** Throttle for passwords. An unknown browser waits at most 10 s for guesses of others. */
const PASSWORD_TRIES = { free: 10, emailWaitMsMax: 10_000 } as const;

/**
 * Throttle for codes. Three of a million codes are valid at any time, so guessing takes years at
 * this rate.
 */
const CODE_TRIES = { free: 10, emailWaitMsMax: 300_000 } as const;

/** Device cookie, which identifies a browser. */
type Device = { readonly value: string; readonly digest: string; readonly isNew: boolean };

/** Credentials of a sign-in. `accountId` names the account that created the user, if any. */
type Credentials = {
  readonly email: string;
  readonly accountId: string | undefined;
  readonly password: string;
};

type SignInParts = Pick<ConsolePorts, 'users' | 'members' | 'clock' | 'randomness' | 'metrics'> & {
  readonly audit: ConsoleAudit;
  readonly live: LiveSessions;
  readonly passwords: Passwords;
  readonly secondFactors: SecondFactors;
  readonly cookies: Cookies;
  readonly trail: FailureTrail;
};

/** Sign-in with password and second factor. Source: decision 246. */
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
   * Signs in by email and password. Throws 401 for a wrong password and for an unknown email, with
   * the same text and timing. Throws 429 for a throttled attempt, and `no_account` for a user
   * without an account.
   */
  async byPassword({ email, accountId, password }: Credentials, visit: Visit): Promise<SignedIn> {
    const { users, members, trail } = this.#parts;
    // Both look-ups always run, so that the timing reveals nothing.
    const [own, plain] = await Promise.all([
      accountId === undefined ? undefined : users.findByEmail(email, accountId),
      users.findByEmail(email),
    ]);
    const found = own ?? plain;
    if (!(await this.#isRight(email, found, password, visit))) {
      trail.failed(found?.user, visit);
      throw faultFor('wrong_credentials', 'email or password is wrong');
    }
    if (found === undefined) throw new Error('a right password needs a user');
    const [membership] = await members.accountsOf(found.user.id);
    if (membership === undefined) {
      throw faultFor('no_account', 'you are in no account; ask an owner for an invitation');
    }
    return await this.enter(found, membership.accountId, password, visit);
  }

  /**
   * Begins a session after a correct password, and ends the browser's earlier session. `isProven`
   * means that the person has also entered a correct code.
   */
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

  /**
   * Returns the user with the new device and, if the hash parameters have changed, a new password
   * hash.
   */
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
      if (!isSame) throw faultFor('wrong_credentials', 'the password was just changed; retry');
      const renewed = passwordHash === undefined ? now : { ...now, passwordHash };
      return device === undefined ? renewed : withDevice(renewed, device.digest);
    });
  }

  /** Counts an attempt by a signed-in user to enter a code. Throws 429 for a throttled attempt. */
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

  /**
   * Completes a sign-in with an authenticator code or recovery code. Throws 401 for a wrong code.
   */
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

  /** Checks the password of a signed-in user. Throws 403 if it is wrong. */
  async confirm({ stored }: LiveSession, password: string, visit: Visit): Promise<void> {
    const { user } = stored;
    if (await this.#isRight(user.email, stored, password, visit)) return;
    this.#parts.trail.failed(user, visit);
    throw faultFor('wrong_password', 'the password is wrong', { field: 'password' });
  }

  /**
   * Consumes a code and returns the changed user. Returns users without a second factor unchanged.
   * Throws 401 for a wrong code, and `second_factor_needed` for a missing code.
   */
  async proven(stored: StoredUser, code: string | undefined, visit: Visit): Promise<StoredUser> {
    const { users, secondFactors } = this.#parts;
    if (stored.user.secondFactor?.state !== 'active') return stored;
    if (code === undefined) {
      throw faultFor('second_factor_needed', 'enter a code of the second factor');
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

  /** Whether a password belongs to a user. The throttle counts the attempt. */
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

  /**
   * Returns the browser's device cookie if it belongs to this user, otherwise a new device cookie.
   */
  #deviceOf(user: User, visit: Visit): Device {
    const { device } = visit.shown;
    const digest = deviceDigestOf(user, visit);
    if (digest !== undefined && device !== undefined)
      return { value: device, digest, isNew: false };
    const value = this.#parts.randomness.base62(VALUE_LENGTH);
    return { value, digest: digestOf(value), isNew: true };
  }

  /** Ends the browser's earlier session, because a browser has one session. */
  async #endShown({ shown }: Visit): Promise<void> {
    const { live } = this.#parts;
    const earlier = await live.find(shown.session);
    if (earlier !== undefined) await live.end(earlier.stored, [earlier.session]);
  }
}

function wrongCode() {
  return faultFor('wrong_code', 'this code is wrong or was already used; enter a new code');
}

/** Digest of the device cookie if this browser has signed in as this user. Otherwise undefined. */
export function deviceDigestOf(user: User | undefined, { shown }: Visit): string | undefined {
  if (shown.device === undefined) return undefined;
  const digest = digestOf(shown.device);
  return user?.deviceDigests.includes(digest) ? digest : undefined;
}

/** Maximum attempts at an optimistic update. One person makes few concurrent changes. */
const ATTEMPTS_MAX = 4;

/**
 * Updates a user with an optimistic lock. After a conflict, `next` is applied again to the stored
 * user. An error thrown by `next` ends the update. Rejects with `conflict` if the user was deleted,
 * and with `service_unavailable` after too many conflicts.
 */
export async function changedUser(
  users: UserStore,
  stored: StoredUser,
  next: (user: User) => User,
): Promise<StoredUser> {
  let current = stored;
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const wanted = next(current.user);
    try {
      return await users.replace(current, wanted);
    } catch (error) {
      if (toFault(error).code !== 'conflict') throw error;
    }
    const found = await users.find(current.user.id);
    if (found === undefined) throw new Fault('conflict', 'this user was deleted');
    current = found;
  }
  throw new Fault('service_unavailable', 'the user is changing concurrently', { retryAfterS: 1 });
}
