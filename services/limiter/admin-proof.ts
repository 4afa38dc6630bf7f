import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/*
 * How `ctl` shows the admin port that it has the token without sending it: the port may be another
 * user's while the service is down. The service gives every connection a nonce, `ctl` answers with a
 * MAC of its request under the token, and the service proves its answer likewise (decision 142).
 */

/** Header of an answer that carries the service's own proof. */
export const ADMIN_PROOF_HEADER = 'x-admin-proof';

/** Bytes of a nonce: 128 bits. */
const NONCE_BYTES = 16;

/** A request as both ends see it. */
type ProvenRequest = {
  readonly nonce: string;
  /** `address:port` of the service's end of the connection: a proof is good for no other port. */
  readonly address: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The body's text; empty for none. */
  readonly body: string;
};

/** A nonce that was never given before. */
export function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url');
}

/** The challenge for a `WWW-Authenticate` header. */
export function challengeOf(nonce: string): string {
  return `Bearer, Proof nonce="${nonce}"`;
}

/** The nonce of a challenge; undefined if there is none. */
export function nonceIn(challenge: string | undefined): string | undefined {
  return /\bProof nonce="([\w-]{8,128})"/.exec(challenge ?? '')?.[1];
}

/** Proves that a request comes from a holder of the token. */
export function requestProof(token: string, request: ProvenRequest): string {
  const { nonce, address, method, target, body } = request;
  return macOf(token, ['request', nonce, address, method, target, body]);
}

/** Proves that an answer comes from a holder of the token, and belongs to the request of `proof`. */
export function answerProof(token: string, proof: string, status: number, body: string): string {
  return macOf(token, ['answer', proof, status, body]);
}

/** Whether two proofs are the same; the time it takes says nothing of them. */
export function isSameProof(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** As JSON, so that no two lists of parts are the same bytes. */
function macOf(token: string, parts: readonly (string | number)[]): string {
  return createHmac('sha256', token).update(JSON.stringify(parts)).digest('base64url');
}
