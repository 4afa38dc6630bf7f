import { createHmac } from 'node:crypto';

/** Prefix of a secret. Source: Standard Webhooks 1.0. */
const PREFIX = 'whsec_';

/** Random bytes of a secret. Source: Standard Webhooks 1.0, which allows 24 to 64. */
export const SECRET_BYTES = 32;

/** Secret as a customer sees it, once. */
export function formatSecret(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes).toString('base64');
}

/** Bytes of a secret as a customer sees it. */
export function secretBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(PREFIX.length), 'base64');
}

/** Label of the seal of secrets. Must never change. */
export const SECRET_SEAL_LABEL = 'identity-engine webhook secret 1';

/** A message before it is signed. Its id is the same in every attempt. */
export type Message = { readonly id: string; readonly body: string };

/**
 * Headers of an attempt to deliver a message. There is a signature for each secret, so that a
 * customer can change the secret without losing a message. Source: Standard Webhooks 1.0.
 */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly Uint8Array[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const timestamp = `${Math.floor(nowMs / 1_000)}`;
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
