import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RefusedAddresses } from '#edge/callers/known-callers';
import { ManualClock } from '#test/support/manual-clock';

/** The refused keys of each address. `barred` records the networks that were blocked. */
function scene() {
  const clock = new ManualClock();
  const barred: string[] = [];
  const refused = new RefusedAddresses(clock, (network) => barred.push(network));
  let keys = 0;
  /** Sends `count` invented keys. Returns how many keys were looked up. */
  const send = (address: string, count: number): number => {
    let asked = 0;
    for (let i = 0; i < count; i += 1) {
      keys += 1;
      if (!refused.mayAsk(address, `key ${keys}`)) continue;
      asked += 1;
      refused.count(address, `key ${keys}`);
    }
    return asked;
  };
  return { clock, refused, barred, send };
}

/** A scene in which one address has sent 30 invented keys. */
function guessed(address = '1.1.1.1') {
  const opened = scene();
  opened.send(address, 30);
  return opened;
}

const guesser = suite('an address with 30 refused keys within a minute');

guesser('has at most 5 unknown keys looked up in any second', () => {
  const { clock, refused, send } = guessed();
  assert.is(send('1.1.1.1', 100), 5);
  assert.ok(refused.isBarred('1.1.1.1', 'unknown'));
  clock.advance(999);
  assert.is(send('1.1.1.1', 100), 0);
  clock.advance(1);
  assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
  assert.is(send('1.1.1.1', 3), 3);
  clock.advance(500);
  assert.is(send('1.1.1.1', 100), 2);
  clock.advance(500);
  assert.is(send('1.1.1.1', 100), 3);
});

guesser('does not block a key that was admitted within the last 15 minutes', () => {
  const { clock, refused, send } = scene();
  assert.ok(refused.admit('known'));
  clock.advance(900_000);
  send('1.1.1.1', 35);
  assert.not.ok(refused.isBarred('1.1.1.1', 'known'));
  assert.ok(refused.mayAsk('1.1.1.1', 'known'));
  clock.advance(1);
  assert.ok(refused.isBarred('1.1.1.1', 'known'));
});

guesser('blocks a key that was admitted and later refused', () => {
  const { refused, send } = scene();
  refused.admit('revoked');
  refused.count('2.2.2.2', 'revoked');
  send('1.1.1.1', 35);
  assert.not.ok(refused.mayAsk('1.1.1.1', 'revoked'));
});

guesser('is not affected by queries of its state', () => {
  const { refused, send } = guessed();
  for (let i = 0; i < 100; i += 1) assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
  assert.is(send('1.1.1.1', 100), 5);
});

guesser('blocks no other address', () => {
  const { refused, barred, send } = guessed();
  send('1.1.1.1', 5);
  assert.not.ok(refused.isBarred('2.2.2.2', 'unknown'));
  assert.equal(barred, ['1.1.1.1']);
});

guesser('is unblocked a minute later', () => {
  const { clock, send } = guessed();
  clock.advance(59_999);
  assert.is(send('1.1.1.1', 100), 5);
  clock.advance(1);
  assert.is(send('1.1.1.1', 29), 29);
});

guesser('causes no checks of other addresses after it is unblocked', () => {
  const { clock, refused } = guessed('2001:db8:1:2::1');
  assert.ok(refused.hasBars);
  clock.advance(60_000);
  assert.not.ok(refused.hasBars);
});

const patient = suite('an address with 29 refused keys within a minute');

patient('has its keys looked up as before', () => {
  const { clock, refused, barred, send } = scene();
  assert.is(send('1.1.1.1', 29), 29);
  clock.advance(60_000);
  assert.is(send('1.1.1.1', 29), 29);
  assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
  assert.equal(barred, []);
});

const spelling = suite('the addresses');

/** `isSame`: guesses from the first address also count for the second. */
for (const [first, second, isSame] of [
  ['1.2.3.4', '::ffff:1.2.3.4', true],
  ['1.2.3.4', '::FFFF:102:304', true],
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8:1:2::1', '2001:0DB8:0001:0002::9', true],
  ['fe80::1%eth0', 'fe80::2', true],
  ['not an address', 'nor this', true],
  ['1.2.3.4', '1.2.3.4:5678', true],
  ['1.2.3.4', '[::ffff:1.2.3.4]:5678', true],
  ['2001:db8:1:2::1', '[2001:db8:1:2::9]:443', true],
  ['2001:db8:1:2::1', '[2001:db8:1:2::9]', true],
  ['1.2.3.4', '1.2.3.5', false],
  ['::ffff:1.2.3.4', '::1.2.3.4', false],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['1.2.3.4:5678', '1.2.3.5:5678', false],
  ['[2001:db8:1:2::1]:443', '[2001:db8:1:3::1]:443', false],
] as const) {
  spelling(`${first} and ${second} are counted ${isSame ? 'together' : 'apart'}`, () => {
    const { refused, send } = guessed(first);
    send(first, 5);
    assert.is(refused.isBarred(second, 'unknown'), isSame);
  });
}

const swarm = suite('refused keys from very many addresses');

swarm('do not evict a blocked address', () => {
  const { refused, send } = guessed();
  send('1.1.1.1', 5);
  for (let i = 0; i < 65_536; i += 1) send(`10.0.${i >> 8}.${i & 255}`, 1);
  assert.ok(refused.isBarred('1.1.1.1', 'unknown'));
});

swarm('in one IPv6 /48 are looked up 300 times, and then 50 times a second', () => {
  const { clock, refused, barred, send } = scene();
  let asked = 0;
  for (let i = 0; i < 65_536; i += 1) asked += send(`2001:db8:1:${i.toString(16)}::1`, 1);
  assert.is(asked, 350);
  assert.equal(barred, ['2001:db8:1::/48']);
  clock.advance(1_000);
  asked = 0;
  for (let i = 0; i < 65_536; i += 1) asked += send(`2001:db8:1:${i.toString(16)}::1`, 1);
  assert.is(asked, 50);
  assert.is(send('2001:db8:2:1::1', 30), 30);
  clock.advance(60_000);
  assert.not.ok(refused.hasBars);
});

for (const each of [guesser, patient, spelling, swarm]) each.run();
