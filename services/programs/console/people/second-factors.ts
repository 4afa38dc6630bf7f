import { Secret, TOTP } from 'otpauth';
import { digestOf } from '#accounts/api-key';
import { type User, withSecondFactor } from '#accounts/people';
import { faultFor } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';
import type { Randomness } from '#stdlib/randomness';
import { SecretSeal } from '#stdlib/secret-seal';

/** Label of the seal of second factors. Must never change. */
const SEAL_LABEL = 'identity-engine second factor 1';

/** Enrolment result. The secret is shown once. */
type Enrolment = { readonly user: User; readonly secret: string; readonly uri: string };

/** A user with new recovery codes, which are shown once. */
type WithCodes = { readonly user: User; readonly codes: readonly string[] };

/**
 * Changes second factors of users. The methods return the changed user, and the caller stores the
 * user. Source: decision 246.
 */
export class SecondFactors {
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #randomness: Randomness;
  readonly #seal: SecretSeal | undefined;

  constructor(
    { clock, randomness }: { readonly clock: Clock; readonly randomness: Randomness },
    secrets: Reloadable<readonly string[]> | undefined,
  ) {
    this.#clock = clock;
    this.#randomness = randomness;
    this.#seal = secrets && new SecretSeal(secrets, SEAL_LABEL);
  }

  /**
   * Adds a new pending secret. Throws `second_factor_state` if a second factor is active, and
   * `second_factor_unavailable` if the console has no secrets.
   */
  enrolled(user: User): Enrolment {
    if (this.#seal === undefined) {
      const text = 'second factors need SERVICE_CLUSTER_SECRET; an operator must set it';
      throw faultFor('second_factor_unavailable', text);
    }
    assertState(user.secondFactor?.state !== 'active', 'the second factor is already active');
    const secret = newTotpSecret(this.#randomness);
    const sealedSecret = this.#seal.seal(user.id, secret);
    const pending = withSecondFactor(user, { state: 'pending', sealedSecret, lastStep: 0 });
    return { user: pending, ...totpTexts(secret, user.email) };
  }

  /**
   * Activates the second factor if the code proves that the user has the secret. Returns undefined
   * for a wrong code.
   */
  confirmed(user: User, code: string): WithCodes | undefined {
    assertState(user.secondFactor?.state === 'pending', 'no second factor waits for confirmation');
    const after = this.#afterCode(user, code);
    if (after?.secondFactor === undefined) return undefined;
    // A new credentials version ends all sessions without the second factor, even if the factor is
    // disabled later.
    const secondFactor = { ...after.secondFactor, state: 'active' as const };
    return this.withCodes({ ...withNextCredentials(after), secondFactor });
  }

  /** Removes the second factor. Throws `second_factor_state` if there is none. */
  disabled(user: User): User {
    assertState(user.secondFactor !== undefined, 'you have no second factor');
    return withNextCredentials(withSecondFactor(user, undefined));
  }

  /** Replaces the recovery codes. The old codes become invalid. */
  withCodes(user: User): WithCodes {
    assertState(user.secondFactor?.state === 'active', 'you have no active second factor');
    const codes = newRecoveryCodes(this.#randomness);
    const recoveryDigests = codes.map((each) => recoveryDigest(user.id, each));
    return { user: { ...user, recoveryDigests }, codes };
  }

  /**
   * Returns a function that consumes an authenticator code or recovery code. The function returns
   * undefined if the code is wrong or used. After a concurrent change, apply the function to the
   * changed user again.
   */
  used(code: string): (user: User) => User | undefined {
    return (user) => {
      if (user.secondFactor?.state !== 'active') return undefined;
      const digest = recoveryDigest(user.id, code);
      if (!user.recoveryDigests.includes(digest)) return this.#afterCode(user, code);
      return { ...user, recoveryDigests: user.recoveryDigests.filter((each) => each !== digest) };
    };
  }

  /**
   * Consumes an authenticator code. Encrypts the user's secret again if an older cluster secret
   * encrypted it.
   */
  #afterCode(user: User, code: string): User | undefined {
    const { secondFactor } = user;
    const opened = secondFactor && this.#seal?.open(user.id, secondFactor.sealedSecret);
    if (secondFactor === undefined || opened === undefined) return undefined;
    const { lastStep } = secondFactor;
    const step = stepOfCode(opened.text, code, { nowMs: this.#clock.wallMs(), lastStep });
    if (step === undefined) return undefined;
    const sealedSecret = opened.isCurrent
      ? secondFactor.sealedSecret
      : (this.#seal?.seal(user.id, opened.text) ?? secondFactor.sealedSecret);
    return { ...user, secondFactor: { ...secondFactor, sealedSecret, lastStep: step } };
  }
}

/** Increments the credentials version, which ends all sessions so far. */
function withNextCredentials(user: User): User {
  return { ...user, credentialsVersion: user.credentialsVersion + 1 };
}

function assertState(isSo: boolean, text: string): void {
  if (!isSo) throw faultFor('second_factor_state', text);
}

/** Secret length in hexadecimal digits: 160 bits, as RFC 4226, 4 recommends. */
const SECRET_DIGITS = 40;

/**
 * Accepted clock drift in steps of 30 s, for phones with inaccurate clocks. Source: RFC 6238, 5.2.
 */
const WINDOW_STEPS = 1;

const CODE = /^\d{6}$/;

/** Parameters that every authenticator supports: SHA-1, six digits, 30 s. Source: RFC 6238. */
const KIND = { issuer: 'Identity Engine', algorithm: 'SHA1', digits: 6, period: 30 } as const;

function newTotpSecret(randomness: Randomness): string {
  return randomness.hex(SECRET_DIGITS);
}

/** Returns the secret in base32, for typing, and the URI for a QR code. */
function totpTexts(secret: string, email: string): { secret: string; uri: string } {
  const totp = totpOf(secret, email);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * Returns the time step of a code at `nowMs`. Returns undefined if the code is wrong, or if a code
 * of the same or a later step was used before (`lastStep`).
 */
function stepOfCode(
  secret: string,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): number | undefined {
  if (!CODE.test(code)) return undefined;
  const totp = totpOf(secret, '');
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW_STEPS });
  if (delta === null) return undefined;
  const step = totp.counter({ timestamp: nowMs }) + delta;
  return step > lastStep ? step : undefined;
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ ...KIND, label, secret: Secret.fromHex(secret) });
}

/** Number of recovery codes per user. Source: decision 246. */
const CODES = 10;

/** Length of a recovery code in hexadecimal digits: 80 bits, too many to guess from the digest. */
const DIGITS = 20;

/** Creates recovery codes as four groups of five digits. */
function newRecoveryCodes(randomness: Randomness): string[] {
  return Array.from({ length: CODES }, () => randomness.hex(DIGITS).replace(/(.{5})(?=.)/g, '$1-'));
}

/** Recovery code digest. Spaces, hyphens and case do not matter. */
function recoveryDigest(userId: string, code: string): string {
  return digestOf(`${userId} ${code.toLowerCase().replace(/[\s-]/g, '')}`);
}
