import { randomFillSync } from 'node:crypto';

/** What a request's id looks like, a caller's and a new one. */
export const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Bytes of randomness in an id. */
const ID_BYTES = 16;

/** Randomness is drawn for this many ids at a time, because one draw costs as much as a hundred. */
const IDS_PER_DRAW = 512;

const pool = Buffer.alloc(ID_BYTES * IDS_PER_DRAW);
let used = pool.length;

/** The caller's `X-Request-Id` if it is well-formed, else a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  if (typeof header === 'string' && REQUEST_ID.test(header)) return header;
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${pool.toString('hex', used - ID_BYTES, used)}`;
}
