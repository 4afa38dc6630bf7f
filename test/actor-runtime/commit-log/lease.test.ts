import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEASE_MS } from '#actor-runtime/actor-bounds';
import { CommitLog } from '#actor-runtime/commit-log';
import { memoryJournal } from '#storage/memory/meters';
import { newScene } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { stateOf, turnOfEvents } from '#test/support/settled';

const lease = suite('the read lease');

lease('does not hold before the first append has succeeded', async () => {
  const { journal, log, add } = newScene();
  assert.not(log.isLeased());
  await add(1);
  assert.not(log.isLeased());
  await journal.succeed();
  assert.ok(log.isLeased());
});

lease('lasts 2 s from the start of the append, by the monotonic clock', async () => {
  const { journal, log, add, clock } = newScene();
  await add(1);
  clock.advance(500);
  await journal.succeed();
  clock.advance(LEASE_MS - 501);
  assert.ok(log.isLeased());
  clock.advance(1);
  assert.not(log.isLeased());
});

for (const stepMs of [LEASE_MS, -LEASE_MS]) {
  lease(`ends when the wall clock steps by ${stepMs} ms, as after a suspend`, async () => {
    const { journal, log, add, clock } = newScene();
    await add(1);
    await journal.succeed();
    clock.stepWall(stepMs);
    assert.not(log.isLeased());
  });
}

lease('ends by the monotonic clock although the wall clock was set back', async () => {
  const { journal, log, add, clock } = newScene();
  await add(1);
  await journal.succeed();
  clock.advance(LEASE_MS);
  clock.stepWall(-LEASE_MS);
  assert.not(log.isLeased());
});

lease('is not renewed by an append that is in flight', async () => {
  const { journal, log, add, clock } = newScene();
  await add(1);
  await journal.succeed();
  clock.advance(LEASE_MS - 1);
  await add(1);
  clock.advance(1);
  assert.not(log.isLeased());
});

lease('ends when the journal has ended', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  await journal.succeed();
  log.end(new Error('taken'));
  assert.not(log.isLeased());
});

lease('always holds if no other node can take over', async () => {
  const log = new CommitLog(memoryJournal(), new ManualClock());
  assert.ok(log.isLeased());
  await log.whenConfirmed();
});

const confirmed = suite('an answer that waits for confirmation');

confirmed('starts its own append on a quiet journal', async () => {
  const { journal, log } = newScene();
  const waits = log.whenConfirmed();
  await turnOfEvents();
  assert.equal(journal.sizes, [0]);
  assert.is(await stateOf(waits), 'pending');
  await journal.succeed();
  await waits;
});

confirmed('is not confirmed by the append in flight, but by the next append', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  const waits = log.whenConfirmed();
  await journal.succeed();
  assert.is(await stateOf(waits), 'pending');
  assert.equal(journal.sizes, [1, 0]);
  await journal.succeed();
  await waits;
  assert.equal(journal.sizes, [1, 0]);
});

confirmed('shares the next append with other answers and with records', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  const waits = Promise.all([log.whenConfirmed(), log.whenConfirmed()]);
  await add(2);
  await journal.succeed();
  await journal.succeed();
  await waits;
  assert.equal(journal.sizes, [1, 2]);
});

for (const group of [lease, confirmed]) group.run();
