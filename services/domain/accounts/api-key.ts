import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Prefix of every API key. Source: interface 5, decision 41. */
const PREFIX = 'svc_sk_';

/** Length of the account id in a key, in characters. Source: decision 41. */
const ACCOUNT_LENGTH = 12;

/** Length of the secret, in characters: 190 random bits. Source: decision 41. */
export const SECRET_LENGTH = 32;

/** Length of the checksum, in characters: 62^6 exceeds 2^32, the CRC-32 range (decision 41). */
const CHECKSUM_LENGTH = 6;

/** Length of the stored hint, in characters: 24 bits of the secret's 190 bits (decision 242). */
const HINT_LENGTH = 4;

const ACCOUNT_END = PREFIX.length + ACCOUNT_LENGTH;
const CHECKSUM_START = ACCOUNT_END + SECRET_LENGTH;
const KEY_LENGTH = CHECKSUM_START + CHECKSUM_LENGTH;

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE62_ONLY = /^[0-9A-Za-z]+$/;
const KEY_SHAPE = /^svc_sk_[0-9A-Za-z]{50}$/;

/** Base62 digit values by character code. `KEY_SHAPE` excludes all other characters. */
const DIGIT_VALUES = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, BASE62.indexOf(String.fromCharCode(code))),
);

/** Whether `text` looks like an account id: 12 base62 characters. */
export function isAccountId(text: string): boolean {
  return text.length === ACCOUNT_LENGTH && BASE62_ONLY.test(text);
}

/**
 * Parses a key and returns its account id. Undefined if prefix, length, alphabet or checksum is
 * wrong. Only the meter checks whether the key exists. Every request runs this check first, in less
 * than a microsecond. Source: decision 41.
 */
export function parseApiKey(text: string): { accountId: string } | undefined {
  if (text.length !== KEY_LENGTH || !KEY_SHAPE.test(text)) return undefined;
  let checksum = 0;
  for (let i = CHECKSUM_START; i < KEY_LENGTH; i += 1) {
    checksum = checksum * BASE62.length + (DIGIT_VALUES[text.charCodeAt(i)] ?? 0);
  }
  if (checksum !== crc32(text.slice(0, CHECKSUM_START))) return undefined;
  return { accountId: text.slice(PREFIX.length, ACCOUNT_END) };
}

/**
 * Builds a key from account id and secret. Throws a RangeError unless the id has 12 and the secret
 * has 32 base62 characters. Source: decision 41.
 */
export function formatApiKey(accountId: string, secret: string): string {
  if (!isAccountId(accountId)) throw new RangeError('an account id must have 12 base62 characters');
  if (secret.length !== SECRET_LENGTH || !BASE62_ONLY.test(secret)) {
    throw new RangeError('a secret must have 32 base62 characters');
  }
  const body = PREFIX + accountId + secret;
  return body + base62Of(crc32(body));
}

/**
 * Digest of a key: SHA-256 in base64url, 43 characters. Stores keep the digest instead of the key.
 * A plain hash suffices, because 190 random bits cannot be guessed. Source: architecture 4.
 */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** Key hint: the last characters of the secret, for recognition by people (decision 242). */
export function hintOf(key: string): string {
  return key.slice(CHECKSUM_START - HINT_LENGTH, CHECKSUM_START);
}

/** Masked key, shown after creation: `svc_sk_…` and the hint. */
export function maskedKey(hint: string): string {
  return `${PREFIX}…${hint}`;
}

function base62Of(value: number): string {
  let rest = value;
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = BASE62.charAt(rest % BASE62.length) + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

/**
 * Key scopes: words in this order, separated by spaces, like the OAuth `scope` (RFC 6749, 3.3).
 * `full` includes `read`. Source: decisions 41 and 310.
 */
export const KEY_SCOPES = [
  'full',
  'read',
  'audit',
  'billing',
  'full audit',
  'full billing',
  'full audit billing',
  'read audit',
  'read billing',
  'read audit billing',
  'audit billing',
] as const;

/** Key scope. Older releases have only `full` and `read`. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** A single scope word. */
export type KeyRight = 'full' | 'read' | 'audit' | 'billing';

/** Right required by a call; `any`: every key may make the call. */
export type NeededRight = KeyRight | 'any';

/** Scope with all rights, for the operator's key. */
export const WHOLE_SCOPE: KeyScope = 'full audit billing';

/** All rights, in scope order. */
export const RIGHTS: readonly KeyRight[] = ['full', 'read', 'audit', 'billing'];

/** Rights in a scope. */
export function rightsOf(scope: KeyScope): KeyRight[] {
  return scope.split(' ') as KeyRight[];
}

/** The scope with these words, in any order; undefined if the combination does not exist. */
export function scopeOf(words: readonly string[]): KeyScope | undefined {
  const text = RIGHTS.filter((right) => words.includes(right)).join(' ');
  const isKnown = words.every((word) => (RIGHTS as readonly string[]).includes(word));
  return isKnown ? KEY_SCOPES.find((scope) => scope === text) : undefined;
}
