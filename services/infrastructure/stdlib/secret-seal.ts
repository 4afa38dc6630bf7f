import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { derivedFrom, type Reloadable } from '#stdlib/files';

const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Format prefix of sealed text (decision 239). */
const FORM = 'sealed1';

/** Decrypted text, and whether the current secret encrypted it. */
type OpenedSecret = { readonly text: string; readonly isCurrent: boolean };

/**
 * Encrypts secrets for a store, each for one owner only. The first cluster secret encrypts, and all
 * secrets decrypt, so that secrets can be rotated (decision 134).
 */
export class SecretSeal {
  readonly #keys: Reloadable<readonly Buffer[]>;

  /** `label` separates this use of the cluster secret from other uses and later formats. */
  constructor(secrets: Reloadable<readonly string[]>, label: string) {
    this.#keys = derivedFrom(secrets, (texts) => texts.map((text) => keyOf(text, label)));
  }

  /** Encrypts and authenticates the text (AES-256-GCM, bound to the id of its owner). */
  seal(ownerId: string, text: string): string {
    const [key] = this.#keys.current;
    if (key === undefined) throw new Error('a cluster has at least one secret');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(ownerId));
    const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
    return `${FORM}.${bytes.toString('base64url')}`;
  }

  /**
   * Decrypts a text. Returns undefined if the secret that encrypted the text was removed, or if the
   * text belongs to another owner.
   */
  open(ownerId: string, sealed: string): OpenedSecret | undefined {
    const [form, body = ''] = sealed.split('.');
    if (form !== FORM) return undefined;
    for (const [at, key] of this.#keys.current.entries()) {
      const text = opened(key, ownerId, Buffer.from(body, 'base64url'));
      if (text !== undefined) return { text, isCurrent: at === 0 };
    }
    return undefined;
  }
}

function keyOf(secret: string, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', label, KEY_BYTES));
}

function opened(key: Buffer, ownerId: string, bytes: Buffer): string | undefined {
  const hiddenAt = NONCE_BYTES + TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(ownerId))
      .setAuthTag(bytes.subarray(NONCE_BYTES, hiddenAt));
    return decipher.update(bytes.subarray(hiddenAt), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
