import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RefusedAddresses, SuspectedProxies } from '#edge/callers/known-callers';
import { liveHeapBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';

/** Invented keys, well formed and all different. */
const KEYS = 1_000_000;

/** Addresses that send the keys, five times as many as an edge remembers. */
const ADDRESSES = 50_000;

/** Maximum memory after the flood, in MiB: 10,000 addresses, and a margin for the heap. */
const MIB_MAX = 3;

/** Maximum memory in MiB if every network is blocked and stores the times of five look-ups. */
const BARRED_MIB_MAX = 6;

/** An edge's refused addresses, with a limiter that recognises no key. */
function scene() {
  const clock = new ManualClock();
  const refused = new RefusedAddresses(clock, () => undefined);
  let asked = 0;
  const send = (key: number, address: string): void => {
    if (!refused.mayAsk(address, `digest ${key}`)) return;
    asked += 1;
    refused.count(address, `digest ${key}`);
  };
  return { clock, send, askedTimes: () => asked };
}

/** An address in IPv6 network number `index`. Sixteen networks share a /48. */
function networkAt(index: number): string {
  return `2001:${(index >> 4).toString(16)}:0:${(index & 15).toString(16)}::1`;
}

/** Heap growth that `action` causes, in MiB. */
function grownMib(action: () => void): number {
  const before = liveHeapBytes();
  action();
  return (liveHeapBytes() - before) / 1_048_576;
}

const flood = suite('a million different invented keys');

flood('from one address cost the limiter 30 look-ups, and then 5 a second', () => {
  const { clock, send, askedTimes } = scene();
  for (let key = 0; key < KEYS; key += 1) send(key, '1.1.1.1');
  assert.is(askedTimes(), 35);
  for (let second = 1; second < 60; second += 1) {
    clock.advance(1_000);
    for (let key = 0; key < 100; key += 1) send(KEYS + key, '1.1.1.1');
  }
  assert.is(askedTimes(), 30 + 60 * 5);
});

flood('from very many addresses leave little in memory', () => {
  const { send, askedTimes } = scene();
  send(0, 'warm');
  const grown = grownMib(() => {
    for (let address = 0; address < ADDRESSES; address += 1) {
      const name = `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`;
      for (let key = 0; key < KEYS / ADDRESSES; key += 1) send(key, name);
    }
  });
  assert.is(askedTimes(), KEYS + 1);
  assert.ok(grown < MIB_MAX, `${grown.toFixed(1)} MiB`);
  send(0, 'warm');
});

flood('from very many networks leave little in memory, even if all networks are blocked', () => {
  const { send } = scene();
  send(0, 'warm');
  const grown = grownMib(() => {
    for (let network = 0; network < 20_000; network += 1) {
      for (let key = 0; key < 36; key += 1) send(key, networkAt(network));
    }
  });
  assert.ok(grown < BARRED_MIB_MAX, `${grown.toFixed(1)} MiB`);
  send(0, 'warm');
});

const accounts = suite('many accounts');

accounts('on one address are reported once, at the 32nd account', () => {
  const clock = new ManualClock();
  const reported: [string, number][] = [];
  const shared = new SuspectedProxies(clock, (...address) => reported.push(address));
  for (let account = 0; account < 31; account += 1) shared.note('10.0.0.1', `account ${account}`);
  for (let account = 0; account < 31; account += 1) shared.note('10.0.0.1', `account ${account}`);
  assert.equal(reported, []);
  for (let account = 31; account < 100; account += 1) shared.note('10.0.0.1', `account ${account}`);
  assert.equal(reported, [['10.0.0.1', 32]]);
});

accounts('on separate addresses are not reported, and leave little in memory', () => {
  let reported = 0;
  const shared = new SuspectedProxies(new ManualClock(), () => (reported += 1));
  const grown = grownMib(() => {
    for (let account = 0; account < ADDRESSES; account += 1) {
      shared.note(networkAt(account), `account ${account}`);
    }
  });
  assert.is(reported, 0);
  assert.ok(grown < MIB_MAX, `${grown.toFixed(1)} MiB`);
  shared.note('1.1.1.1', 'last');
});

for (const each of [flood, accounts]) each.run();
