/** Code points of a password. Source: decision 246, after NIST SP 800-63B. */
const PASSWORD_LENGTH_MIN = 12;

/** Code points of a password: more would only cost the hash. Source: decision 246. */
const PASSWORD_LENGTH_MAX = 128;

/** Different characters that a password has at least. Chosen. */
const VARIETY_MIN = 5;

/** A row of neighbours as long as this is no password: `123456789012`, `abcdefghijkl`. */
const ROWS = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** The most used passwords of 12 characters and more, without digits and signs at their ends. */
const COMMON = new Set([
  ...['password', 'passwordpassword', 'passw0rd', 'p@ssw0rd', 'p@ssword', 'iloveyou', 'letmein'],
  ...['welcome', 'administrator', 'admin', 'changeme', 'football', 'baseball', 'sunshine'],
  ...['princess', 'qwerty', 'qwertyuiop', 'superman', 'trustno1', 'mypassword', 'thisisapassword'],
  ...['correcthorsebatterystaple', 'iloveyouforever', 'unbelievable', 'secret', 'monkey', 'dragon'],
]);

/** Why a text may not be a password. */
export type PasswordProblem = 'too_short' | 'too_long' | 'weak_password';

/**
 * What is wrong with a password of the user with this address; undefined: nothing. Only length and the
 * obvious are looked at: rules about kinds of characters make passwords worse (NIST SP 800-63B).
 */
export function passwordProblem(password: string, email: string): PasswordProblem | undefined {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) return 'too_short';
  if (length > PASSWORD_LENGTH_MAX) return 'too_long';
  const plain = password.normalize('NFKC').toLowerCase();
  return isRepetitive(plain) || isCommon(plain) || isAddress(plain, email)
    ? 'weak_password'
    : undefined;
}

function isRepetitive(plain: string): boolean {
  const isRepetition = (plain + plain).indexOf(plain, 1) < plain.length;
  return isRepetition || new Set(plain).size < VARIETY_MIN;
}

function isCommon(plain: string): boolean {
  const letters = plain.replace(/^[\d\p{P}\p{S}\s]+|[\d\p{P}\p{S}\s]+$/gu, '');
  const backwards = [...plain].reverse().join('');
  const isRow = ROWS.some((row) => row.includes(plain) || row.includes(backwards));
  return isRow || COMMON.has(letters) || COMMON.has(plain);
}

/** Whether little is left of it without the address, or without what stands before its `@`. */
function isAddress(plain: string, email: string): boolean {
  const [local = ''] = email.split('@');
  return [email, local].some(
    (known) => known.length > 2 && plain.replaceAll(known, '').length < PASSWORD_LENGTH_MIN / 2,
  );
}
