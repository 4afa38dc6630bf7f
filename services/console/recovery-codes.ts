import { digestOf } from '#accounts/api-key';
import type { Randomness } from '#platform/randomness';

/** Recovery codes that a user gets. Source: decision 246. */
const CODES = 10;

/** Hexadecimal digits of a code: 80 bits, so that nothing is found from its digest. */
const DIGITS = 20;

/** New recovery codes, as they are shown once: four groups of five. */
export function newRecoveryCodes(randomness: Randomness): string[] {
  return Array.from({ length: CODES }, () => randomness.hex(DIGITS).replace(/(.{5})(?=.)/g, '$1-'));
}

/** What is stored of a user's code, however its groups are typed. */
export function recoveryDigest(userId: string, code: string): string {
  return digestOf(`${userId} ${code.toLowerCase().replace(/[\s-]/g, '')}`);
}
