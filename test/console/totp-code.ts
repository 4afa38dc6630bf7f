import { Secret, TOTP } from 'otpauth';

/** Code that an authenticator shows at `atMs`. */
export function codeOf(secret: string, atMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });
}
