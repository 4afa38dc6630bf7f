import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RefusedAddresses } from '#edge/refused-addresses';
import { liveHeapBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';

/** Keys that somebody makes up, each well formed and each another one. */
const KEYS = 1_000_000;

/** Addresses that they come from: five times as many as are remembered. */
const ADDRESSES = 50_000;

/** What the flood may leave in memory, in MiB: 10,000 addresses, and room for the heap's own doings. */
const MIB_MAX = 3;

/** An edge before a limiter that knows nobody. */
function scene() {
  const refused = new RefusedAddresses(new ManualClock());
  let asked = 0;
  const send = (key: number, address: string): void => {
    if (refused.isBarred(address, `digest ${key}`)) return;
    asked += 1;
    refused.count(address);
  };
  return { send, askedTimes: () => asked };
}

const flood = suite('a million different keys that nobody made');

flood('from one address cost the limiter 30 questions', () => {
  const { send, askedTimes } = scene();
  for (let key = 0; key < KEYS; key += 1) send(key, '1.1.1.1');
  assert.is(askedTimes(), 30);
});

flood('from very many addresses leave next to nothing in memory', () => {
  const { send, askedTimes } = scene();
  send(0, 'warm');
  const before = liveHeapBytes();
  for (let address = 0; address < ADDRESSES; address += 1) {
    for (let key = 0; key < KEYS / ADDRESSES; key += 1) send(key, `address ${address}`);
  }
  const grownMib = (liveHeapBytes() - before) / 1_048_576;
  assert.is(askedTimes(), KEYS + 1);
  assert.ok(grownMib < MIB_MAX, `${grownMib.toFixed(1)} MiB`);
  send(0, 'warm');
});

flood.run();
