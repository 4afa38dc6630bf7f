import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RefusedAddresses } from '#edge/refused-addresses';
import { ManualClock } from '#test/support/manual-clock';

/** An address that has sent as many refused keys as are looked up in a minute, and some more. */
function guessed(clock: ManualClock): RefusedAddresses {
  const refused = new RefusedAddresses(clock);
  for (let i = 0; i < 30; i += 1) refused.count('1.1.1.1');
  return refused;
}

const guesser = suite('an address with 30 refused keys within a minute');

guesser('is barred with keys that nobody knows', () => {
  assert.ok(guessed(new ManualClock()).isBarred('1.1.1.1', 'unknown'));
});

guesser('is not barred with a key that was admitted within the last minute', () => {
  const clock = new ManualClock();
  const refused = guessed(clock);
  refused.admit('known');
  clock.advance(30_000);
  assert.not.ok(refused.isBarred('1.1.1.1', 'known'));
});

guesser('bars no other address', () => {
  assert.not.ok(guessed(new ManualClock()).isBarred('2.2.2.2', 'unknown'));
});

guesser('is free again after that minute', () => {
  const clock = new ManualClock();
  const refused = guessed(clock);
  clock.advance(59_999);
  assert.ok(refused.isBarred('1.1.1.1', 'unknown'));
  clock.advance(1);
  assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
});

const patient = suite('an address with 29 refused keys within a minute');

patient('is not barred', () => {
  const refused = new RefusedAddresses(new ManualClock());
  for (let i = 0; i < 29; i += 1) refused.count('1.1.1.1');
  assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
});

const swarm = suite('refused keys from very many addresses');

swarm('push out the oldest address, so that the table keeps its size', () => {
  const refused = guessed(new ManualClock());
  for (let i = 0; i < 9_999; i += 1) refused.count(`address ${i}`);
  assert.ok(refused.isBarred('1.1.1.1', 'unknown'));
  refused.count('one more');
  assert.not.ok(refused.isBarred('1.1.1.1', 'unknown'));
});

for (const each of [guesser, patient, swarm]) each.run();
