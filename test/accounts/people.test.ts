import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  mayDo,
  normalEmail,
  type Permission,
  passwordProblem,
  permissionsOf,
  ROLES,
  type Session,
  type User,
  withDevice,
  worthOf,
} from '#accounts/people';

const USER: User = {
  ...{ id: 'usr_0123456789abcdef', email: 'ada@example.com', name: 'Ada', passwordHash: 'h' },
  ...{ credentialsVersion: 3, recoveryDigests: [], deviceDigests: [], createdAtMs: 0 },
};

const SESSION: Session = {
  ...{ digest: 'd', userId: USER.id, accountId: 'a', authenticatedBy: 'password' },
  ...{ credentialsVersion: 3, createdAtMs: 0, lastSeenAtMs: 0, address: '::1', client: '' },
};

const MINUTE_MS = 60_000;

const roles = suite('the permissions of a role');

roles('are exactly the permissions in the documented table', () => {
  const allowed: Record<Permission, string> = {
    'keys.read': 'owner developer viewer',
    'keys.write': 'owner developer',
    'instances.read': 'owner developer viewer',
    'instances.write': 'owner developer',
    'usage.read': 'owner developer billing viewer',
    billing: 'owner billing',
    members: 'owner',
    'audit.read': 'owner',
  };
  for (const [permission, words] of Object.entries(allowed)) {
    const may = ROLES.filter((role) => mayDo(role, permission as Permission));
    assert.is(may.join(' '), words, permission);
  }
  assert.is(permissionsOf('owner').length, Object.keys(allowed).length);
});

const emails = suite('an email address');

emails('is normalised to lower case, without full-width letters and surrounding spaces', () => {
  for (const text of ['ada@example.com', ' Ada@EXAMPLE.com\n', 'ａda@example.com']) {
    assert.is(normalEmail(text), 'ada@example.com', text);
  }
  assert.is(normalEmail('ada+x@bücher.example'), 'ada+x@bücher.example');
});

for (const text of [
  ...['', 'ada', '@example.com', 'ada@', 'ada@example', 'a@b@c.d', 'ada@example.', 'a b@c.d'],
  ...['a@b.c, d@e.f', 'Ada <ada@example.com>', 'a\u0000@b.c', 'a\u200d@b.c', 'a@b.c\r\nBcc: d@e.f'],
  `${'x'.repeat(65)}@example.com`,
  `a@${'x'.repeat(252)}.com`,
]) {
  emails(`is not ${JSON.stringify(text.slice(0, 30))}`, () => {
    assert.is(normalEmail(text), undefined);
  });
}

const passwords = suite('a password');

for (const [password, problem] of [
  ['elevenchars', 'too_short'],
  ['twelve chars', undefined],
  ['\u{1f600}'.repeat(11), 'too_short'],
  ['x'.repeat(129), 'too_long'],
  [`${'abcdefghij'.repeat(12)}abcdefg!`, undefined],
  ['aaaaaaaaaaaaaaaa', 'weak_password'],
  ['abcabcabcabcabc', 'weak_password'],
  ['123456789012', 'weak_password'],
  ['abcdefghijklm', 'weak_password'],
  ['mlkjihgfedcba', 'weak_password'],
  ['Password12345!', 'weak_password'],
  ['qwertyuiop123', 'weak_password'],
  ['ADA@example.com', 'weak_password'],
  ['ada@example.com12', 'weak_password'],
  ['correct horse battery', undefined],
] as const) {
  passwords(`such as ${password.slice(0, 24)} is ${problem ?? 'accepted'}`, () => {
    assert.is(passwordProblem(password, USER.email), problem);
  });
}

const sessions = suite('a session');

sessions('has full rights until it is idle for 30 minutes or is 12 hours old', () => {
  assert.is(worthOf(SESSION, USER, 30 * MINUTE_MS - 1), 'full');
  assert.is(worthOf(SESSION, USER, 30 * MINUTE_MS), 'over');
  const busy = { ...SESSION, lastSeenAtMs: 12 * 60 * MINUTE_MS - 1 };
  assert.is(worthOf(busy, USER, 12 * 60 * MINUTE_MS - 1), 'full');
  assert.is(worthOf(busy, USER, 12 * 60 * MINUTE_MS), 'over');
});

sessions('ends if the password has changed or the user differs', () => {
  assert.is(worthOf(SESSION, { ...USER, credentialsVersion: 4 }, 1), 'over');
  assert.is(worthOf(SESSION, { ...USER, id: 'usr_fedcba9876543210' }, 1), 'over');
});

sessions('that lacks the second factor accepts only this factor, for five minutes', () => {
  const secondFactor = { state: 'active', sealedSecret: 's', lastStep: 0 } as const;
  const user = { ...USER, secondFactor };
  assert.is(worthOf(SESSION, user, 5 * MINUTE_MS - 1), 'second_factor');
  assert.is(worthOf(SESSION, user, 5 * MINUTE_MS), 'over');
  assert.is(worthOf({ ...SESSION, authenticatedBy: 'password+totp' }, user, 1), 'full');
  const pending = { ...user, secondFactor: { ...secondFactor, state: 'pending' } } as const;
  assert.is(worthOf(SESSION, pending, 6 * MINUTE_MS), 'full');
});

sessions('adds its browser to the ten newest browsers of its user', () => {
  const digests = Array.from({ length: 12 }, (_, at) => `${at}`);
  const user = digests.reduce(withDevice, USER);
  assert.equal(user.deviceDigests, digests.slice(2));
  assert.equal(withDevice(user, '5').deviceDigests.at(-1), '5');
  assert.is(withDevice(user, '5').deviceDigests.length, 10);
});

for (const each of [roles, emails, passwords, sessions]) each.run();
