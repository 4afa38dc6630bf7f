import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf, formatApiKey, parseApiKey } from '#accounts/api-key';
import { randomnessFrom, systemRandomness } from '#stdlib/randomness';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62 = (length: number) =>
  fc.string({ unit: fc.constantFrom(...BASE62), minLength: length, maxLength: length });
const anyKey = fc
  .tuple(base62(12), base62(32))
  .map(([account, secret]) => formatApiKey(account, secret));

const wellFormed = suite('an API key from this service');

wellFormed('contains the id of its account', () => {
  fc.assert(
    fc.property(base62(12), base62(32), (account, secret) => {
      assert.equal(parseApiKey(formatApiKey(account, secret)), { accountId: account });
    }),
  );
});

wellFormed('has the documented format', () => {
  const key = formatApiKey('A'.repeat(12), 'b'.repeat(32));
  assert.match(key, /^svc_sk_A{12}b{32}[0-9A-Za-z]{6}$/);
  // CRC-32 of the first 51 characters in six base62 digits, computed with Python's zlib.
  assert.is(key.slice(51), '2093Z3');
});

wellFormed('has a digest: its SHA-256 in 43 base64url characters', () => {
  assert.is(digestOf('abc'), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});

wellFormed('cannot be formatted from parts with a wrong format', () => {
  assert.throws(() => formatApiKey('short', 'b'.repeat(32)), RangeError);
  assert.throws(() => formatApiKey('A'.repeat(12), 'b'.repeat(31)), RangeError);
  assert.throws(() => formatApiKey('A'.repeat(11).concat('-'), 'b'.repeat(32)), RangeError);
});

const mistyped = suite('a key with a typing error');

mistyped('is refused if any single character is replaced by another base62 digit', () => {
  const key = formatApiKey('0aZ9bY8cX7dW', 'Qw3rTy6uIoP0asDfGh1jKl2zXcVb5nM4');
  for (let at = 0; at < key.length; at += 1) {
    for (const digit of BASE62) {
      if (digit === key[at]) continue;
      assert.is(parseApiKey(key.slice(0, at) + digit + key.slice(at + 1)), undefined, `${at}`);
    }
  }
});

mistyped('is refused if any character of any key is replaced by any other character', () => {
  const unit = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });
  fc.assert(
    fc.property(anyKey, fc.nat(56), unit, (key, at, other) => {
      fc.pre(key[at] !== other);
      assert.is(parseApiKey(key.slice(0, at) + other + key.slice(at + 1)), undefined);
    }),
  );
});

mistyped('is refused if two adjacent characters are swapped', () => {
  fc.assert(
    fc.property(anyKey, fc.integer({ min: 7, max: 55 }), (key, at) => {
      const swapped = [key.slice(0, at), key[at + 1], key[at], key.slice(at + 2)].join('');
      fc.pre(swapped !== key);
      assert.is(parseApiKey(swapped), undefined);
    }),
  );
});

mistyped('is refused if too short, too long, padded or of another format', () => {
  const key = formatApiKey('A'.repeat(12), 'b'.repeat(32));
  const others = [
    '',
    'svc_sk_',
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    'x'.repeat(57),
  ];
  for (const other of others) assert.is(parseApiKey(other), undefined);
});

mistyped('is refused with another prefix, even if the checksum is right', () => {
  // CRC-32 of 'svc_pk_AAAAAAAAAAAAbbbb…' in base62, computed with Python's zlib.
  const key = `svc_pk_${'A'.repeat(12)}${'b'.repeat(32)}3vx8Tm`;
  assert.is(parseApiKey(key), undefined);
});

const random = suite('random text');

random('has the requested length, and only base62 or hexadecimal digits', () => {
  for (const length of [0, 1, 12, 32, 1_000]) {
    assert.match(systemRandomness.base62(length), new RegExp(`^[0-9A-Za-z]{${length}}$`));
    assert.match(systemRandomness.hex(length), new RegExp(`^[0-9a-f]{${length}}$`));
  }
});

random('in base62 is unbiased: all digits are equally frequent over all byte values', () => {
  let calls = 0;
  const everyByte = (count: number) =>
    Uint8Array.from({ length: count }, () => {
      calls += 1;
      return (calls - 1) % 256;
    });
  const text = randomnessFrom(everyByte).base62(248 * 4);
  for (const digit of BASE62) assert.is(text.split(digit).length - 1, 16, digit);
});

wellFormed.run();
mistyped.run();
random.run();
