import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';

/** What one opened bus signs with: an Ed25519 key that no other process has. Source: decision 179. */
export type SenderKey = {
  /** The public key, 64 characters of 0-9 and a-f: it is the sender's name. */
  readonly name: string;
  readonly sign: (bytes: Uint8Array) => Buffer;
};

/** Bytes of a signature. */
export const SENDER_SIGNATURE_BYTES = 64;

/** Characters of a name at the head of what belongs to it: 64 bits, which no other key will share. */
const MARK_LENGTH = 16;

/** Draws a key. It lives as long as its process and is written nowhere. */
export function newSenderKey(): SenderKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { name: nameOf(publicKey), sign: (bytes) => sign(null, bytes, privateKey) };
}

/** Whether the sender of this name signed these bytes. False for what is no name, too. Never throws. */
export function isSignedBy(name: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    const x = Buffer.from(name, 'hex').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, bytes, key, signature);
  } catch {
    return false;
  }
}

/** How every id begins that only the sender of this name may speak for. */
export function senderMarkOf(name: string): string {
  return name.slice(0, MARK_LENGTH);
}

function nameOf(publicKey: KeyObject): string {
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('hex');
}
