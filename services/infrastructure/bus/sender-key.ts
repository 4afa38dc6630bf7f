import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';

/** Ed25519 key pair of one opened bus, unique to its process. Source: decision 179. */
export type SenderKey = {
  /** Public key in hex, 64 characters. Serves as the sender's name. */
  readonly name: string;
  readonly sign: (bytes: Uint8Array) => Buffer;
};

/** Length of a signature, in bytes. */
export const SENDER_SIGNATURE_BYTES = 64;

/**
 * Length of a sender's mark, in characters: 64 bits of the public key, enough to avoid collisions.
 */
const MARK_LENGTH = 16;

/** Generates a key that exists only in the memory of its process. */
export function newSenderKey(): SenderKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { name: nameOf(publicKey), sign: (bytes) => sign(null, bytes, privateKey) };
}

/**
 * Whether the named sender signed these bytes. False if the name is not a valid key. Never throws.
 */
export function isSignedBy(name: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    const x = Buffer.from(name, 'hex').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, bytes, key, signature);
  } catch {
    return false;
  }
}

/** Mark of a sender: the prefix of all incarnation ids for which only this sender may publish. */
export function senderMarkOf(name: string): string {
  return name.slice(0, MARK_LENGTH);
}

function nameOf(publicKey: KeyObject): string {
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('hex');
}
