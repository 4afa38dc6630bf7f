import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Answer, Caller } from '#test/support/calls/caller';
import { createInstance, observationAt } from '#test/support/calls/scene';

/** A key with its creation time. The service does not look up recent UUIDv7 keys (decision 22). */
export function uuidV7(atMs = Date.now()): string {
  const time = atMs.toString(16).padStart(12, '0');
  const rest = randomBytes(10).toString('hex');
  const variant = '89ab'.charAt(Number.parseInt(rest.charAt(3), 16) % 4);
  const groups = [time.slice(0, 8), time.slice(8), `7${rest.slice(0, 3)}`];
  return [...groups, `${variant}${rest.slice(4, 7)}`, rest.slice(7, 19)].join('-');
}

let keysMade = 0;

/** An unused key with permitted characters. */
export const newKey = (): string => `key ${++keysMade} of this test ~!@#$%^&*()`;

/** A repeatable call. */
export type Call = { readonly method: string; readonly path: string; readonly json: unknown };

/** Sends a call with a key. */
export const sendKeyed = (of: Caller, { method, path, json }: Call, key: string) =>
  of.send(method, path, { json, headers: { 'idempotency-key': key } });

/** One call per endpoint with idempotency keys, on new instances. */
export async function keyedCalls(of: Caller): Promise<readonly Call[]> {
  const ids = await Promise.all([1, 2, 3].map(() => createInstance(of)));
  const on = (index: number, path: string, json: unknown): Call => {
    return { method: 'POST', path: `/instances/${ids[index]}${path}`, json };
  };
  return [
    { method: 'POST', path: '/instances', json: { name: 'keyed' } },
    on(0, '/process', observationAt(0)),
    on(1, '/process/batch', { observations: [observationAt(0), observationAt(1)] }),
    on(2, '/reset', { mode: 'initial' }),
  ];
}

/** Asserts that `again` replays `first`: status, body, ETag and location, and the replay header. */
export function assertReplayed(again: Answer, first: Answer): void {
  assert.is(again.status, first.status, again.text);
  assert.is(again.text, first.text);
  assert.is(first.headers.get('idempotent-replayed'), null);
  assert.is(again.headers.get('idempotent-replayed'), 'true');
  assert.is(again.headers.get('etag'), first.headers.get('etag'));
  assert.is(again.headers.get('location'), first.headers.get('location'));
}
