import { Secret, TOTP } from 'otpauth';

/** The code that an authenticator shows at `atMs`. */
export function codeOf(secret: string, atMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });
}
