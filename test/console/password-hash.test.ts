import { scryptSync } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  hashPassword,
  isOutdated,
  isPasswordOf,
  NO_PASSWORD,
  Passwords,
} from '#console/people/passwords';
import { faultIn } from '#test/support/settled';

const hashes = suite('a password hash');

hashes('contains its algorithm and parameters, with its own salt', async () => {
  const [first, second] = [await hashPassword('a password'), await hashPassword('a password')];
  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.is.not(first, second);
  assert.is(isOutdated(first), false);
});

hashes('verifies the same password in any Unicode normalisation form', async () => {
  const hash = await hashPassword('pa\u00dfwort \u00e9');
  assert.is(await isPasswordOf(hash, 'pa\u00dfwort e\u0301'), true);
  assert.is(await isPasswordOf(hash, 'pa\u00dfwort e'), false);
  assert.is(await isPasswordOf(hash, ''), false);
  assert.is(await isPasswordOf(NO_PASSWORD, ''), false);
});

hashes('of the published Argon2id test vector is verified', async () => {
  // phc-winner-argon2, test.c: password "password", salt "somesalt", t=2, m=65536, p=1.
  const hash =
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.is(await isPasswordOf(hash, 'password'), true);
  assert.is(await isPasswordOf(hash, 'passwore'), false);
  assert.is(isOutdated(hash), true);
});

hashes('of another algorithm, or of fewer passes, is verified and marked outdated', async () => {
  const salt = Buffer.from('0123456789abcdef');
  const made = scryptSync('a password', salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  const [saltText, text] = [salt, made].map((each) => each.toString('base64').replace(/=+$/, ''));
  const scrypt = `$scrypt$ln=14,r=8,p=1$${saltText}$${text}`;
  assert.is(await isPasswordOf(scrypt, 'a password'), true);
  assert.is(await isPasswordOf(scrypt, 'another'), false);
  assert.is(isOutdated(scrypt), true);
  const renewed = await new Passwords().renewed(scrypt, 'a password');
  assert.ok(renewed !== undefined && (await isPasswordOf(renewed, 'a password')));
  assert.is(await new Passwords().renewed(renewed, 'a password'), undefined);
});

const queue = suite('concurrent password hashes');

queue('wait in a queue, and are refused beyond its bound', async () => {
  const passwords = new Passwords();
  const attempts = Array.from({ length: 66 }, () => passwords.isRight(undefined, 'x'));
  const fault = await faultIn(passwords.isRight(undefined, 'x'));
  assert.equal([fault.reason, fault.httpStatus], ['overloaded', 503]);
  assert.equal(new Set(await Promise.all(attempts)), new Set([false]));
  assert.is(await passwords.isRight(undefined, 'x'), false, 'the queue accepts work again');
});

for (const each of [hashes, queue]) each.run();
