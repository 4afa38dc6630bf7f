import { passwordProblem } from '#accounts/password-rules';
import { hashPassword, isOutdated, isPasswordOf, NO_PASSWORD } from '#console/password-hash';
import { TurnQueue } from '#console/turn-queue';
import { faultFor } from '#fault/fault';

/** Passwords hashed at once: each takes 19 MiB and a thread of the pool. Source: decision 246. */
const AT_ONCE_MAX = 2;

/** Passwords that wait for that: about a second's worth. Chosen. */
const WAITING_MAX = 64;

const TEXTS = {
  too_short: 'password: 12 characters at least',
  too_long: 'password: 128 characters at most',
  weak_password:
    'password: easy to guess; a few words that have nothing to do with each other are good',
} as const;

/** Hashes and checks passwords, some at once: a flood of them is refused, and holds nothing else up. */
export class Passwords {
  readonly #queue = new TurnQueue({ atOnce: AT_ONCE_MAX, waitingMax: WAITING_MAX });

  /** The hash of a new password. Throws 422 for one that is too easy, and naming `field`. */
  async hash(password: string, email: string, field = 'password'): Promise<string> {
    const problem = passwordProblem(password, email);
    if (problem !== undefined) throw faultFor(problem, TEXTS[problem], { field });
    return await this.#queue.run(() => hashPassword(password));
  }

  /** Whether this is the password; of no user, undefined, none is, and that takes as long. */
  async isRight(stored: string | undefined, password: string): Promise<boolean> {
    const isRight = await this.#queue.run(() => isPasswordOf(stored ?? NO_PASSWORD, password));
    return isRight && stored !== undefined;
  }

  /** A hash as one would be made today, of a password that was right; undefined: it is. */
  async renewed(stored: string, password: string): Promise<string | undefined> {
    return isOutdated(stored) ? await this.#queue.run(() => hashPassword(password)) : undefined;
  }
}
