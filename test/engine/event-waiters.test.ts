import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EventWaiters } from '#engine/events/pages';
import { Fault } from '#errors/fault';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf, stateOf } from '#test/support/settled';

function scene() {
  const clock = new ManualClock();
  return { clock, waiters: new EventWaiters(clock) };
}

const watching = suite('a call that watches an instance');

watching('is woken by a commit, once for all changes since its last read', async () => {
  const { waiters } = scene();
  using watch = waiters.watch('a', 1);
  const change = watch.change(1_000);
  assert.is(await stateOf(change), 'pending');
  waiters.changed('a');
  waiters.changed('a');
  assert.is(await change, true);
  assert.is(await stateOf(watch.change(1_000)), 'pending');
});

watching('is woken by a commit that precedes the wait', async () => {
  const { waiters } = scene();
  using watch = waiters.watch('a', 1);
  waiters.changed('a');
  assert.is(await watch.change(1_000), true);
});

watching('is not woken by changes of other instances, and times out', async () => {
  const { clock, waiters } = scene();
  using watch = waiters.watch('a', 1);
  const change = watch.change(1_000);
  waiters.changed('b');
  clock.advance(999);
  assert.is(await stateOf(change), 'pending');
  clock.advance(1);
  assert.is(await change, false);
});

watching('is woken when its shard or all shards leave this node', async () => {
  const { waiters } = scene();
  using one = waiters.watch('a', 1);
  using other = waiters.watch('b', 2);
  const [first, second] = [one.change(1_000), other.change(1_000)];
  waiters.left(1);
  assert.is(await first, true);
  assert.is(await stateOf(second), 'pending');
  waiters.left(undefined);
  assert.is(await second, true);
});

watching('is removed at its end, without affecting other calls for the instance', async () => {
  const { waiters } = scene();
  using staying = waiters.watch('a', 1);
  const going = waiters.watch('a', 1);
  going[Symbol.dispose]();
  going[Symbol.dispose]();
  assert.is(waiters.size, 1);
  waiters.changed('a');
  assert.is(await staying.change(1_000), true);
});

watching('is refused as overloaded when 16,384 calls wait', async () => {
  const { waiters } = scene();
  const watches = Array.from({ length: 16_384 }, (_, n) => waiters.watch(`${n}`, 1));
  const refusal = await refusalOf(() => waiters.watch('a', 1));
  assert.is(refusal instanceof Fault && refusal.reason, 'overloaded');
  watches[0]?.[Symbol.dispose]();
  waiters.watch('a', 1);
});

watching.run();
