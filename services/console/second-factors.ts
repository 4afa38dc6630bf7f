import { type User, withSecondFactor } from '#accounts/user';
import { newRecoveryCodes, recoveryDigest } from '#console/recovery-codes';
import { SecretSeal } from '#console/sealed-secret';
import { newTotpSecret, stepOfCode, totpTexts } from '#console/totp';
import { faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Randomness } from '#platform/randomness';
import type { Reloadable } from '#platform/reloadable';

/** What a user has of a new secret: shown once. */
export type Enrolment = { readonly user: User; readonly secret: string; readonly uri: string };

/** A user with new recovery codes, which are shown once. */
export type WithCodes = { readonly user: User; readonly codes: readonly string[] };

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
