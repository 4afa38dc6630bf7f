import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { derivedFrom, type Reloadable } from '#platform/reloadable';

/** Separates this use of the cluster's secret from every other, and this form from later ones. */
const KEY_LABEL = 'identity-engine second factor 1';
const KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The first word of what is sealed: its form (decision 239). */
const FORM = 'sealed1';

/** What was sealed, and whether that was under the secret that seals today. */
export type OpenedSecret = { readonly text: string; readonly isCurrent: boolean };

/**
 * Encrypts what must be had again, for one user each: a text of one opens for no other. The first of
 * the cluster's secrets seals, all open (decision 134).
 */
export class SecretSeal {
  readonly #keys: Reloadable<readonly Buffer[]>;

  constructor(secrets: Reloadable<readonly string[]>) {
    this.#keys = derivedFrom(secrets, (texts) => texts.map(keyOf));
  }

  /** The text in a form that says nothing of it. */
  seal(userId: string, text: string): string {
    const [key] = this.#keys.current;
    if (key === undefined) throw new Error('a cluster has one secret at least');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(userId));
    const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
    return `${FORM}.${bytes.toString('base64url')}`;
  }

  /** The text again; undefined: it was sealed under a secret that is gone, or not for this user. */
  open(userId: string, sealed: string): OpenedSecret | undefined {
    const [form, body = ''] = sealed.split('.');
    if (form !== FORM) return undefined;
    for (const [at, key] of this.#keys.current.entries()) {
      const text = opened(key, userId, Buffer.from(body, 'base64url'));
      if (text !== undefined) return { text, isCurrent: at === 0 };
    }
    return undefined;
  }
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, KEY_BYTES));
}

function opened(key: Buffer, userId: string, bytes: Buffer): string | undefined {
  const hiddenAt = NONCE_BYTES + TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(userId))
      .setAuthTag(bytes.subarray(NONCE_BYTES, hiddenAt));
    return decipher.update(bytes.subarray(hiddenAt), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
