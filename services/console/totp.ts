import { Secret, TOTP } from 'otpauth';
import type { Randomness } from '#platform/randomness';

/** Hexadecimal digits of a secret: the 160 bits that RFC 4226, 4 recommends. */
const SECRET_DIGITS = 40;

/** Steps of 30 s around now whose codes are taken: clocks of telephones differ. Source: RFC 6238, 5.2. */
const WINDOW_STEPS = 1;

const CODE = /^\d{6}$/;

/** What every authenticator takes: SHA-1, six digits, 30 s. Source: RFC 6238. */
const KIND = { issuer: 'Identity Engine', algorithm: 'SHA1', digits: 6, period: 30 } as const;

/** A new shared secret, in hexadecimal. */
export function newTotpSecret(randomness: Randomness): string {
  return randomness.hex(SECRET_DIGITS);
}

/** A secret as it is typed into an authenticator (base32), and as it is scanned. */
export function totpTexts(secret: string, email: string): { secret: string; uri: string } {
  const totp = totpOf(secret, email);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * The time step that a code belongs to at `nowMs`, if it is one after `lastStep`; undefined: the code
 * is wrong, or one of its step or of a later one was taken before.
 */
export function stepOfCode(
  secret: string,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): number | undefined {
  if (!CODE.test(code)) return undefined;
  const totp = totpOf(secret, '');
  const delta = totp.validate({ token: code, timestamp: nowMs, window: WINDOW_STEPS });
  if (delta === null) return undefined;
  const step = totp.counter({ timestamp: nowMs }) + delta;
  return step > lastStep ? step : undefined;
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ ...KIND, label, secret: Secret.fromHex(secret) });
}
