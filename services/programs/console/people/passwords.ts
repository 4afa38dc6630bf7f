import * as crypto from 'node:crypto';
import { passwordProblem } from '#accounts/people';
import { faultFor } from '#errors/fault';

/**
 * Maximum number of concurrent hashes. Each hash takes 19 MiB and a pool thread. Source: decision
 * 246.
 */
const AT_ONCE_MAX = 2;

/** Maximum number of waiting hashes. They take about a second of work. */
const WAITING_MAX = 64;

const TEXTS = {
  too_short: 'password: must have at least 12 characters',
  too_long: 'password: must have at most 128 characters',
  weak_password: 'password: too easy to guess; use several unrelated words',
} as const;

/**
 * Hashes and checks passwords with bounded concurrency. Excess requests are refused and do not
 * delay other work.
 */
export class Passwords {
  readonly #queue = new TurnQueue({ atOnce: AT_ONCE_MAX, waitingMax: WAITING_MAX });

  /** Hashes a new password. Throws 422 with `field` for a weak password. */
  async hash(password: string, email: string, field = 'password'): Promise<string> {
    const problem = passwordProblem(password, email);
    if (problem !== undefined) throw faultFor(problem, TEXTS[problem], { field });
    return await this.#queue.run(() => hashPassword(password));
  }

  /**
   * Whether the password matches the hash. Without a hash (unknown user), the check takes the same
   * time and returns false.
   */
  async isRight(stored: string | undefined, password: string): Promise<boolean> {
    const isRight = await this.#queue.run(() => isPasswordOf(stored ?? NO_PASSWORD, password));
    return isRight && stored !== undefined;
  }

  /**
   * Returns a new hash of a correct password if the stored hash is outdated, otherwise undefined.
   */
  async renewed(stored: string, password: string): Promise<string | undefined> {
    return isOutdated(stored) ? await this.#queue.run(() => hashPassword(password)) : undefined;
  }
}

/** Algorithm and cost of a hash. */
type Recipe =
  | {
      readonly kind: 'argon2id';
      readonly memory: number;
      readonly passes: number;
      readonly lanes: number;
    }
  | { readonly kind: 'scrypt'; readonly logN: number; readonly r: number; readonly p: number };

/** Length of a salt, in bytes. Source: RFC 9106, 3.1. */
const SALT_BYTES = 16;
/** Length of a hash, in bytes. Source: RFC 9106, 3.1. */
const HASH_BYTES = 32;

/**
 * Cost of new hashes: Argon2id with 19 MiB and two passes. Node.js before 24.7 lacks Argon2id and
 * uses scrypt with 128 MiB. Source: OWASP Password Storage Cheat Sheet; decision 246.
 */
const CURRENT: Recipe =
  typeof crypto.argon2 === 'function'
    ? { kind: 'argon2id', memory: 19_456, passes: 2, lanes: 1 }
    : { kind: 'scrypt', logN: 17, r: 8, p: 1 };

/** Memory limit of scrypt, in bytes: twice the present cost. */
const SCRYPT_BYTES_MAX = 256 * 1_024 * 1_024;

/** Argon2id hash as a PHC string: `$algorithm$parameters$salt$hash`. */
const ARGON2ID_FORM = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;
/** Scrypt hash as a PHC string. */
const SCRYPT_FORM = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

/** Hash that no password matches, with the same cost as a real hash. */
export const NO_PASSWORD = textOf(CURRENT, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES));

/** Hashes a password into a PHC string. Runs in a pool thread, so that the event loop is free. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES);
  return textOf(CURRENT, salt, await hashed(CURRENT, password, salt));
}

/** Whether a password matches a hash. The comparison takes constant time. */
export async function isPasswordOf(stored: string, password: string): Promise<boolean> {
  const { recipe, salt, hash } = read(stored);
  return crypto.timingSafeEqual(await hashed(recipe, password, salt), hash);
}

/** Whether a hash has other parameters than a new hash. */
export function isOutdated(stored: string): boolean {
  return prefixOf(read(stored).recipe) !== prefixOf(CURRENT);
}

function prefixOf(recipe: Recipe): string {
  switch (recipe.kind) {
    case 'argon2id':
      return `$argon2id$v=19$m=${recipe.memory},t=${recipe.passes},p=${recipe.lanes}`;
    case 'scrypt':
      return `$scrypt$ln=${recipe.logN},r=${recipe.r},p=${recipe.p}`;
  }
}

function textOf(recipe: Recipe, salt: Buffer, hash: Buffer): string {
  const [saltText, hashText] = [salt, hash].map((bytes) =>
    bytes.toString('base64').replace(/=+$/, ''),
  );
  return `${prefixOf(recipe)}$${saltText}$${hashText}`;
}

function read(stored: string): { recipe: Recipe; salt: Buffer; hash: Buffer } {
  const found = ARGON2ID_FORM.exec(stored) ?? SCRYPT_FORM.exec(stored);
  if (found === null) throw new Error('a stored password hash has an unknown format');
  const [a = 0, b = 0, c = 0] = found.slice(1, 4).map(Number);
  const recipe: Recipe = ARGON2ID_FORM.test(stored)
    ? { kind: 'argon2id', memory: a, passes: b, lanes: c }
    : { kind: 'scrypt', logN: a, r: b, p: c };
  const [salt = '', hash = ''] = found.slice(4);
  return { recipe, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

/** Hashes the normalized password, so that passwords that look the same have the same hash. */
function hashed(recipe: Recipe, password: string, salt: Buffer): Promise<Buffer> {
  const message = password.normalize('NFKC');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const done = (error: Error | null, hash: Buffer) =>
    error === null ? resolve(hash) : reject(error);
  switch (recipe.kind) {
    case 'argon2id': {
      const { memory, passes, lanes: parallelism } = recipe;
      const input = { message, nonce: salt, tagLength: HASH_BYTES, memory, passes, parallelism };
      crypto.argon2('argon2id', input, done);
      break;
    }
    case 'scrypt': {
      const costs = { N: 2 ** recipe.logN, r: recipe.r, p: recipe.p, maxmem: SCRYPT_BYTES_MAX };
      crypto.scrypt(message, salt, HASH_BYTES, costs, done);
    }
  }
  return promise;
}

/** Runs tasks with bounded concurrency, in order. Refuses tasks if the queue is full. */
class TurnQueue {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: { readonly atOnce: number; readonly waitingMax: number }) {
    this.#atOnce = limits.atOnce;
    this.#waitingMax = limits.waitingMax;
  }

  /**
   * Runs the task in its turn and returns the result. Rejects with `overloaded` if the queue is
   * full.
   */
  async run<Value>(task: () => Promise<Value>): Promise<Value> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) {
        throw faultFor('overloaded', 'too many password checks in flight', { retryAfterS: 1 });
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    } else this.#running += 1;
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
