import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import { systemClock } from '#stdlib/clock';
import { busContract, keptAlive } from '#test/bus/bus-contract';
import { ManualClock } from '#test/support/manual-clock';

const contract = busContract({
  name: 'the bus of one process',
  suite,
  open: async () => {
    const bugs: unknown[] = [];
    const bus = inProcessBus({ clock: systemClock, onBug: (error) => bugs.push(error) });
    return { bus: keptAlive(bus), bugs };
  },
});

const noBug = (error: unknown): void => assert.unreachable(String(error));

const simulated = suite('a bus of one process under a simulated clock');

simulated('delivers each message once, when the clock moves, in the order of publishing', () => {
  const clock = new ManualClock();
  const bus = inProcessBus({ clock, onBug: noBug });
  const heard: number[] = [];
  using _listener = bus.subscribe('subject', ([byte = 0]) => heard.push(byte));
  for (const byte of [1, 2, 3]) bus.publish('subject', Uint8Array.of(byte));
  assert.equal(heard, []);
  clock.advance(0);
  clock.advance(1_000);
  assert.equal(heard, [1, 2, 3]);
});

simulated('holds at most 65,536 messages', () => {
  const clock = new ManualClock();
  const bus = inProcessBus({ clock, onBug: noBug });
  let count = 0;
  using _listener = bus.subscribe('subject', () => {
    count += 1;
  });
  for (let sent = 0; sent < 70_000; sent += 1) bus.publish('subject', new Uint8Array());
  clock.advance(0);
  assert.is(count, 65_536);
});

for (const each of [...contract, simulated]) each.run();
