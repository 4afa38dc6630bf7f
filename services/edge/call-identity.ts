import { createHash, createHmac, createSecretKey, type KeyObject, randomInt } from 'node:crypto';
import type { Caller } from '#edge/exchange';
import { invalid } from '#fault/fault';
import { derivedFrom, type Reloadable } from '#platform/reloadable';
import type { EngineCommand, IdempotencyKey } from '#wire/engine-messages';
import type { CallName } from '#wire/limiter-messages';

/**
 * Where the ids of calls without a key end and those of keyed ones begin, which end at 2^52: both
 * are exact as numbers everywhere, and none is ever the other.
 */
const KEYED_ID_START = 2 ** 51;

/** Binds what is derived to its purpose: the same secret signs and names other things as well. */
const CALL_NAME_LABEL = 'identity-engine call name';

/** Characters of an `Idempotency-Key`. Source: decision 22. */
export const KEY_LENGTH_MAX = 255;

/**
 * Printable ASCII, of which HTTP itself takes the spaces at the ends away. The API document shows
 * it as it stands.
 */
export const IDEMPOTENCY_KEY = /^[!-~](?:[ -~]*[!-~])?$/;

/** The `Idempotency-Key` with the fingerprint of what it is used for. Source: decision 22. */
export function readIdempotencyKey(
  header: string | string[] | undefined,
  method: string,
  url: string,
  body: Buffer | undefined,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const text = 'Idempotency-Key: 1 to 255 printable ASCII characters';
    throw invalid('invalid_header', 'Idempotency-Key', text);
  }
  return { key: header, fingerprint: fingerprintOf(method, url, body ?? '') };
}

/** Fingerprint of a call: what must be the same when its key is used again. Source: decision 22. */
export function fingerprintOf(method: string, url: string, body: Buffer | string): string {
  return createHash('sha256').update(`${method} ${url}\n`).update(body).digest('hex');
}

/** Whether a text may be an idempotency key, of a call or of a batch's item. */
export function isIdempotencyKey(text: string): boolean {
  return text.length <= KEY_LENGTH_MAX && IDEMPOTENCY_KEY.test(text);
}

/**
 * Gives every call of this process an id of its own, or the name that its key stands for under the
 * first of `secrets`, which are the same on every edge, and which no caller has: one that could
 * compute names could make two calls of one, which are charged once.
 */
export class CallIds {
  /** Not its bytes: a key object is made once, and bytes again for every name, at 12 µs. */
  readonly #nameKey: Reloadable<KeyObject>;
  #next = randomInt(2 ** 46) * 2 ** 5;

  constructor(secrets: Reloadable<readonly string[]>) {
    this.#nameKey = derivedFrom(secrets, nameKeyOf);
  }

  /** A new id; unlike any of another edge's, because each starts at a number of its own. */
  next(): number {
    this.#next += 1;
    if (this.#next >= KEYED_ID_START) this.#next = 1;
    return this.#next;
  }

  /**
   * The name that a keyed call has on every edge and at every try: of account, instance and key
   * (decision 146). What a key is made of has no line break, so no two are written alike.
   */
  ofKey(
    caller: Caller,
    { kind }: Pick<EngineCommand, 'kind'>,
    instanceId: string,
    key: string,
  ): CallName {
    const scope = kind === 'create' ? 'create' : `on ${instanceId}`;
    const named = [caller.accountId, scope, key].join('\n');
    const digest = createHmac('sha256', this.#nameKey.current).update(named).digest();
    const callId = KEYED_ID_START + bitsOf(digest, 0, 51);
    return { callId, callTag: Math.max(1, bitsOf(digest, 8, 52)) };
  }
}

function nameKeyOf([secret = '']: readonly string[]): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update(CALL_NAME_LABEL).digest());
}

/** The first 49 to 56 bits of a digest from a byte on, as a whole number below 2^`bits`. */
function bitsOf(digest: Buffer, start: number, bits: number): number {
  return digest.readUIntBE(start, 6) * 2 ** (bits - 48) + ((digest[start + 6] ?? 0) >> (56 - bits));
}

/** The id of the instance that a keyed create makes, the `attempt`-th time the key is used again. */
export function instanceIdOfKey(
  secret: string,
  caller: Caller,
  key: string,
  attempt: number,
): string {
  const named = [caller.accountId, key, attempt].join('\n');
  return `inst_${createHmac('sha256', secret).update(named).digest('hex').slice(0, 16)}`;
}
