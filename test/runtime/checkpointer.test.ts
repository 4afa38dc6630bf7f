import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#platform/metrics';
import { Activation } from '#runtime/activation';
import { CHECKPOINT_AGE_MS, RECENT_CALLS_AGE_MS } from '#runtime/bounds';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import { ONE_SHARD } from '#runtime/shard-gate';
import { memoryJournal } from '#storage/memory/memory-journal';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';
import { type Tally, type TallyAnswer, type TallyCall, TallyKind } from '#test/support/tally-actor';

const stored = suite('when an actor is stored while it remembers a young call id');

stored('the id stays for a retry, and its memory is free when it is too old', async () => {
  const clock = new ManualClock();
  const metrics = runtimeMetrics(createMetrics(), 'engine', 'instance');
  const log = new CommitLog(memoryJournal(), clock);
  const ports = { clock, log, gate: ONE_SHARD, metrics, onBug: () => undefined };
  const checkpointer = new Checkpointer(new TallyKind(), ports);
  const activation = new Activation<Tally, TallyCall, TallyAnswer>('a', 0, 0);
  activation.state = { sum: 1, unstored: [1] };
  activation.isBusy = false;
  checkpointer.changed(activation, 100, clock.monotonicMs());
  clock.advance(CHECKPOINT_AGE_MS - 5_000);
  activation.recent.add(7, 1, clock.monotonicMs());
  clock.advance(5_000);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.is(checkpointer.unflushedRecords, 0);
  checkpointer.forgetOldCalls(clock.monotonicMs());
  assert.is(activation.versionOfCall(7, clock.monotonicMs()), 1);
  clock.advance(RECENT_CALLS_AGE_MS + 1);
  checkpointer.forgetOldCalls(clock.monotonicMs());
  assert.not(activation.hasRecentCalls);
});

stored.run();
