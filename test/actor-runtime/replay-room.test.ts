import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { REPLAY_FILL_MAX, REPLAY_LOOK_MS, UNFLUSHED_BYTES_MAX } from '#actor-runtime/actor-bounds';
import { ONE_SHARD } from '#actor-runtime/actor-host';
import { memoryJournal } from '#storage/memory/meters';
import { linesOf } from '#test/actor-runtime/commit-log/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';
import { hostOf, TallyKind, tallyCall } from '#test/support/tally-actor';

const room = suite('recovered records');

room('wait until the tail has room, and so do the calls of their actor', async () => {
  const [clock, kind, taken] = [new ManualClock(), new TallyKind(), [] as string[]];
  const tail = { lines: linesOf('1a', [1, 2, 3]), offset: 0 };
  const gate = {
    ...ONE_SHARD,
    shardOf: (id: string) => Number(id[0]),
    tailOf: (_: number, __: string, id: string) =>
      id === '1a' && taken.length === 0 ? tail : undefined,
    activated: (_: number, __: string, id: string) => void taken.push(id),
  };
  const { host } = hostOf(kind, clock, memoryJournal(), undefined, gate);
  kind.unstoredBytes = UNFLUSHED_BYTES_MAX * REPLAY_FILL_MAX;
  await host.ask('2a', tallyCall({ add: 1 }));
  kind.unstoredBytes = 100;
  host.activateEagerly('1a');
  await turnOfEvents();
  assert.is(
    kind.activations,
    1,
    'eager activation does not even read the actor while the tail has no room',
  );
  const answer = host.ask('1a', tallyCall());
  clock.advance(REPLAY_LOOK_MS);
  await turnOfEvents();
  assert.equal(taken, []);
  await host.storeShard(2);
  clock.advance(REPLAY_LOOK_MS);
  assert.is((await answer).sum, 3);
  assert.equal(taken, ['1a']);
});

room.run();
