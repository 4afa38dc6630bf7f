import { createHash, createHmac, randomInt } from 'node:crypto';
import type { Caller } from '#edge/exchange';
import type { Operation } from '#edge/operation';
import { invalid } from '#fault/fault';
import type { IdempotencyKey } from '#wire/engine-messages';

/** Call ids stay below 2^52, so that they are exact as numbers everywhere. */
const CALL_ID_END = 2 ** 52;

const KEY = /^[\x20-\x7e]{1,255}$/;

/** The `Idempotency-Key` with the fingerprint of what it is used for. Source: decision 22. */
export function readIdempotencyKey(
  header: string | string[] | undefined,
  method: string,
  url: string,
  body: Buffer | undefined,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !KEY.test(header)) {
    const text = 'Idempotency-Key: 1 to 255 printable ASCII characters';
    throw invalid('invalid_header', 'Idempotency-Key', text);
  }
  const hash = createHash('sha256').update(`${method} ${url}\n`);
  return { key: header, fingerprint: hash.update(body ?? '').digest('hex') };
}

/** Gives every call of this process an id of its own, or the one that its key stands for. */
export class CallIds {
  #next = randomInt(2 ** 47) * 2 ** 5;

  /** A new id; unlike any of another edge's, because each starts at a place of its own. */
  next(): number {
    this.#next += 1;
    if (this.#next >= CALL_ID_END) this.#next = 1;
    return this.#next;
  }

  /** The id that a keyed call has on every edge and at every try. Source: architecture 3.5. */
  ofKey(caller: Caller, operation: Operation, instanceId: string, key: string): number {
    const scope = operation.name === 'createInstance' ? 'create' : instanceId;
    const digest = createHash('sha256').update([caller.accountId, scope, key].join('\n')).digest();
    return digest.readUIntBE(0, 6) * 2 ** 4 + ((digest[6] ?? 0) >> 4);
  }
}

/** The id of the instance that a keyed create makes, the `attempt`-th time the key is used anew. */
export function instanceIdOfKey(
  secret: string,
  caller: Caller,
  key: string,
  attempt: number,
): string {
  const named = [caller.accountId, key, attempt].join('\n');
  return `inst_${createHmac('sha256', secret).update(named).digest('hex').slice(0, 16)}`;
}
