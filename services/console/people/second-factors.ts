import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { digestOf } from '#accounts/api-key';
import { type User, withSecondFactor } from '#accounts/people';
import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { derivedFrom, type Reloadable } from '#platform/files';
import type { Randomness } from '#platform/randomness';

/** What a user has of a new secret: shown once. */
type Enrolment = { readonly user: User; readonly secret: string; readonly uri: string };

/** A user with new recovery codes, which are shown once. */
type WithCodes = { readonly user: User; readonly codes: readonly string[] };

/**
 * Second factors of users as pure steps: each makes of a user what is to be stored in their place.
 * Source: decision 246.
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
    this.#seal = secrets && new SecretSeal(secrets);
  }

  /** With a new secret that is not in use yet. Throws `conflict` while one is. */
  enrolled(user: User): Enrolment {
    if (this.#seal === undefined) {
      const text = 'there is no second factor without SERVICE_CLUSTER_SECRET';
      throw faultFor('second_factor_unavailable', text);
    }
    assertState(user.secondFactor?.state !== 'active', 'the second factor is on already');
    const secret = newTotpSecret(this.#randomness);
    const sealedSecret = this.#seal.seal(user.id, secret);
    const pending = withSecondFactor(user, { state: 'pending', sealedSecret, lastStep: 0 });
    return { user: pending, ...totpTexts(secret, user.email) };
  }

  /** With the second factor in use, if a code shows that the user has the secret; else undefined. */
  confirmed(user: User, code: string): WithCodes | undefined {
    assertState(user.secondFactor?.state === 'pending', 'there is no second factor to confirm');
    const after = this.#afterCode(user, code);
    if (after?.secondFactor === undefined) return undefined;
    // Sessions that have not shown the second factor are over for good, also when it is off again.
    const secondFactor = { ...after.secondFactor, state: 'active' as const };
    return this.withCodes({ ...withNextCredentials(after), secondFactor });
  }

  /** Without a second factor. */
  disabled(user: User): User {
    assertState(user.secondFactor !== undefined, 'there is no second factor');
    return withNextCredentials(withSecondFactor(user, undefined));
  }

  /** With other recovery codes; the earlier ones are worth nothing. */
  withCodes(user: User): WithCodes {
    assertState(user.secondFactor?.state === 'active', 'there is no second factor');
    const codes = newRecoveryCodes(this.#randomness);
    const recoveryDigests = codes.map((each) => recoveryDigest(user.id, each));
    return { user: { ...user, recoveryDigests }, codes };
  }

  /**
   * What a code, of the authenticator or for recovery, makes of a user: it is used by that. Undefined
   * for one that is wrong or was used. To be asked again of a user that was changed in between.
   */
  used(code: string): (user: User) => User | undefined {
    return (user) => {
      if (user.secondFactor?.state !== 'active') return undefined;
      const digest = recoveryDigest(user.id, code);
      if (!user.recoveryDigests.includes(digest)) return this.#afterCode(user, code);
      return { ...user, recoveryDigests: user.recoveryDigests.filter((each) => each !== digest) };
    };
  }

  /** A secret that was sealed under the secret before is sealed again with the code's step. */
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

/** A user whose sessions so far are over. */
function withNextCredentials(user: User): User {
  return { ...user, credentialsVersion: user.credentialsVersion + 1 };
}

function assertState(isSo: boolean, text: string): void {
  if (!isSo) throw faultFor('second_factor_state', text);
}

/** Hexadecimal digits of a secret: the 160 bits that RFC 4226, 4 recommends. */
const SECRET_DIGITS = 40;

/** Steps of 30 s around now whose codes are taken: clocks of telephones differ. Source: RFC 6238, 5.2. */
const WINDOW_STEPS = 1;

const CODE = /^\d{6}$/;

/** What every authenticator takes: SHA-1, six digits, 30 s. Source: RFC 6238. */
const KIND = { issuer: 'Identity Engine', algorithm: 'SHA1', digits: 6, period: 30 } as const;

/** A new shared secret, in hexadecimal. */
function newTotpSecret(randomness: Randomness): string {
  return randomness.hex(SECRET_DIGITS);
}

/** A secret as it is typed into an authenticator (base32), and as it is scanned. */
function totpTexts(secret: string, email: string): { secret: string; uri: string } {
  const totp = totpOf(secret, email);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * The time step that a code belongs to at `nowMs`, if it is one after `lastStep`; undefined: the code
 * is wrong, or one of its step or of a later one was taken before.
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

/** Recovery codes that a user gets. Source: decision 246. */
const CODES = 10;

/** Hexadecimal digits of a code: 80 bits, so that nothing is found from its digest. */
const DIGITS = 20;

/** New recovery codes, as they are shown once: four groups of five. */
function newRecoveryCodes(randomness: Randomness): string[] {
  return Array.from({ length: CODES }, () => randomness.hex(DIGITS).replace(/(.{5})(?=.)/g, '$1-'));
}

/** What is stored of a user's code, however its groups are typed. */
function recoveryDigest(userId: string, code: string): string {
  return digestOf(`${userId} ${code.toLowerCase().replace(/[\s-]/g, '')}`);
}

/** Separates this use of the cluster's secret from every other, and this form from later ones. */
const KEY_LABEL = 'identity-engine second factor 1';
const KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The first word of what is sealed: its form (decision 239). */
const FORM = 'sealed1';

/** What was sealed, and whether that was under the secret that seals today. */
type OpenedSecret = { readonly text: string; readonly isCurrent: boolean };

/**
 * Encrypts what must be had again, for one user each: a text of one opens for no other. The first of
 * the cluster's secrets seals, all open (decision 134).
 */
class SecretSeal {
  readonly #keys: Reloadable<readonly Buffer[]>;

  constructor(secrets: Reloadable<readonly string[]>) {
    this.#keys = derivedFrom(secrets, (texts) => texts.map(keyOf));
  }

  /** The text in a form that says nothing of it. */
  seal(userId: string, text: string): string {
    const [key] = this.#keys.current;
    if (key === undefined) throw new Error('a cluster has one secret at least');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(userId));
    const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
    return `${FORM}.${bytes.toString('base64url')}`;
  }

  /** The text again; undefined: it was sealed under a secret that is gone, or not for this user. */
  open(userId: string, sealed: string): OpenedSecret | undefined {
    const [form, body = ''] = sealed.split('.');
    if (form !== FORM) return undefined;
    for (const [at, key] of this.#keys.current.entries()) {
      const text = opened(key, userId, Buffer.from(body, 'base64url'));
      if (text !== undefined) return { text, isCurrent: at === 0 };
    }
    return undefined;
  }
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, KEY_BYTES));
}

function opened(key: Buffer, userId: string, bytes: Buffer): string | undefined {
  const hiddenAt = NONCE_BYTES + TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(userId))
      .setAuthTag(bytes.subarray(NONCE_BYTES, hiddenAt));
    return decipher.update(bytes.subarray(hiddenAt), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
