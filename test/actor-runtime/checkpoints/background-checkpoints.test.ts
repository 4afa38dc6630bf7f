import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
  TAIL_FILL_DUE,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#actor-runtime/actor-bounds';
import { heldScene, newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { pass } from '#test/support/passing';
import { scrapedOf } from '#test/support/scraped';
import { stateOf, turnOfEvents } from '#test/support/settled';

const due = suite('checkpoints in the background');

due('yield to other work after each slice, and then continue', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = newScene();
  const count = 10 * CHECKPOINTS_IN_FLIGHT_MAX;
  for (let i = 0; i < count; i += 1) commit(actorOf(`a${i}`));
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.is(kind.writes, CHECKPOINTS_IN_FLIGHT_MAX);
  clock.advance(0);
  await turnOfEvents();
  assert.is(kind.writes, count);
});

due('are counted when they fail, and retried only by the next sweep', async () => {
  const { clock, kind, checkpointer, actorOf, commit, registry } = heldScene();
  commit(actorOf('a'));
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  kind.held.shift()?.end(new Error('down'));
  await turnOfEvents();
  assert.is(kind.held.length, 0);
  assert.equal(await scrapedOf(registry, /^checkpoint_failures_total/), {
    'checkpoint_failures_total{service="engine"}': 1,
  });
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.is(kind.held.length, 1);
});

due('report how long their actors were dirty, in seconds', async () => {
  const { clock, checkpointer, actorOf, commit, registry } = newScene();
  clock.advance(5_000);
  commit(actorOf('a'));
  clock.advance(CHECKPOINT_AGE_MS + 250);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.equal(await scrapedOf(registry, /^checkpoint_dirty_age_seconds_sum/), {
    'checkpoint_dirty_age_seconds_sum{service="engine"}': CHECKPOINT_AGE_MS / 1_000 + 0.25,
  });
});

due('are not started a second time by a shard that closes', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  commit(actorOf('a'));
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
  await pass(clock, 5, 1);
  assert.is(kind.held.length, 1);
  kind.held.shift()?.end();
  await pass(clock, 5, 1);
  assert.equal(await stateOf(stored), { value: undefined });
});

due('start at an age of two minutes and not earlier', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  commit(actorOf('a'));
  for (let nowMs = 0; nowMs < CHECKPOINT_AGE_MS; nowMs += 999) checkpointer.startDue(nowMs);
  await turnOfEvents();
  assert.is(kind.writes, 0);
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  await turnOfEvents();
  assert.is(kind.writes, 1);
});

due('start with the oldest actors, at most 8 at a time', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  for (let i = 0; i < 20; i += 1) {
    commit(actorOf(`a${i}`));
    clock.advance(1);
  }
  checkpointer.startDue(CHECKPOINT_AGE_MS + 100);
  await turnOfEvents();
  assert.equal(
    kind.held.map(({ id }) => id),
    ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'],
  );
  checkpointer.startDue(CHECKPOINT_AGE_MS + 100);
  const leaving = actorOf('b');
  commit(leaving);
  checkpointer.storeSoon(leaving);
  await turnOfEvents();
  assert.is(kind.held.length, CHECKPOINTS_IN_FLIGHT_MAX);
});

due('are spread evenly over the seconds when many actors keep changing', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = newScene();
  const actors = Array.from({ length: 240 }, (_, i) => actorOf(`a${i}`));
  const written: number[] = [];
  for (let second = 0; second < 480; second += 1) {
    for (const actor of actors) commit(actor);
    clock.advance(1_000);
    const before = kind.writes;
    checkpointer.startDue(clock.monotonicMs());
    // Runs the event loop until all writes that this sweep starts have ended.
    for (let slices = 0; slices < 10; slices += 1) {
      clock.advance(0);
      await turnOfEvents();
    }
    written.push(kind.writes - before);
  }
  assert.equal(new Set(written), new Set([2]));
});

due('have all started after two minutes if all actors changed at the same time', async () => {
  const { clock, checkpointer, actorOf, commit } = newScene();
  for (let i = 0; i < 6; i += 1) commit(actorOf(`a${i}`));
  for (let second = 0; second < 120; second += 1) {
    assert.ok(checkpointer.dirty.records > 0);
    clock.advance(1_000);
    checkpointer.startDue(clock.monotonicMs());
    await turnOfEvents();
  }
  assert.is(checkpointer.dirty.records, 0);
});

due('start no earlier for staying actors when other actors are about to be evicted', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  for (let i = 0; i < 238; i += 1) commit(actorOf(`a${i}`));
  for (let i = 0; i < 3 * CHECKPOINTS_IN_FLIGHT_MAX; i += 1) {
    const leaving = actorOf(`b${i}`);
    commit(leaving);
    checkpointer.storeSoon(leaving);
  }
  await turnOfEvents();
  clock.advance(1_000);
  for (const { end } of kind.held.splice(0)) end();
  await pass(clock, 1, 1);
  const stay = kind.held.filter(({ id }) => id.startsWith('a'));
  assert.is(stay.length, 1);
});

due('start as soon as a write slot is free for an actor that is about to be evicted', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  const actors = Array.from({ length: 3 * CHECKPOINTS_IN_FLIGHT_MAX }, (_, i) => actorOf(`a${i}`));
  for (const actor of actors) {
    commit(actor);
    checkpointer.storeSoon(actor);
  }
  const [, , back, other] = actors.slice(CHECKPOINTS_IN_FLIGHT_MAX);
  if (back === undefined || other === undefined) throw new Error('more actors are waiting');
  back.isBusy = true;
  checkpointer.abandon(other);
  await turnOfEvents();
  const written: string[] = [];
  while (kind.held.length > 0) {
    assert.ok(kind.held.length <= CHECKPOINTS_IN_FLIGHT_MAX);
    for (const { id, end } of kind.held.splice(0)) {
      written.push(id);
      end();
    }
    await pass(clock, 1, 1);
  }
  const stay = ['a10', 'a11'];
  assert.equal(
    written,
    actors.map(({ id }) => id).filter((id) => !stay.includes(id)),
  );
});

due('start with the oldest actors even if other actors are about to be evicted', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  const old = actorOf('old');
  commit(old);
  clock.advance(CHECKPOINT_AGE_MS - 1);
  // The actor has a turn during the sweep. From here on the pace allows no other actors.
  old.isBusy = true;
  checkpointer.startDue(clock.monotonicMs());
  old.isBusy = false;
  for (let i = 0; i < 2 * CHECKPOINTS_IN_FLIGHT_MAX; i += 1) {
    const leaving = actorOf(`a${i}`);
    commit(leaving);
    checkpointer.storeSoon(leaving);
  }
  await turnOfEvents();
  clock.advance(1);
  for (const { end } of kind.held.splice(0)) end();
  await pass(clock, 1, 1);
  const ids = kind.held.map(({ id }) => id);
  assert.equal(ids.slice(0, 2), ['old', `a${CHECKPOINTS_IN_FLIGHT_MAX}`]);
  assert.is(ids.length, CHECKPOINTS_IN_FLIGHT_MAX);
});

due('and the checkpoints of closing shards have a common limit of concurrent writes', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  for (let i = 0; i < 5; i += 1) commit(actorOf(`a${i}`, 0));
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  for (const shard of [1, 2])
    for (let i = 0; i < 9; i += 1) commit(actorOf(`s${shard}-${i}`, shard));
  const ofShard = (shard: number) =>
    checkpointer.dirty.actors().filter((actor) => actor.shard === shard);
  const closed = [1, 2].map((shard) => checkpointer.storeAll(() => ofShard(shard)));
  await turnOfEvents();
  let most = kind.held.length;
  const isDone = Promise.all(closed);
  while ((await stateOf(isDone)) === 'pending') {
    most = Math.max(most, kind.held.length);
    kind.held.shift()?.end();
    await pass(clock, 2, 1);
  }
  assert.is(most, CHECKPOINTS_IN_FLIGHT_MAX);
  await isDone;
});

due('start immediately, at any age, when the tail is nearly full', async () => {
  for (const [records, bytes] of [
    [UNFLUSHED_RECORDS_MAX * TAIL_FILL_DUE + 1, 0],
    [1, UNFLUSHED_BYTES_MAX * TAIL_FILL_DUE + 1],
  ] as const) {
    const { kind, checkpointer, actorOf } = newScene();
    checkpointer.dirty.recovered(actorOf('a'), records - 1, 1, undefined);
    checkpointer.startDue(0);
    await turnOfEvents();
    assert.is(kind.writes, 0);
    const b = actorOf('b');
    kind.unstoredBytes = bytes;
    b.state?.unstored.push(1);
    checkpointer.dirty.recovered(b, 1, 1, undefined);
    assert.ok(checkpointer.dirty.tail > TAIL_FILL_DUE);
    checkpointer.startDue(0);
    await turnOfEvents();
    assert.ok(kind.writes > 0);
  }
});

due('reduce the tail to the records that are not stored yet', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  commit(a, a, b);
  assert.is(checkpointer.dirty.bytes, 300);
  const stored = checkpointer.storeAll(() => [a]);
  await turnOfEvents();
  commit(a);
  assert.is(checkpointer.dirty.bytes, 400);
  // A commit may discard earlier records, as a removal does.
  a.state?.unstored.splice(0);
  commit(a);
  assert.is(checkpointer.dirty.bytes, 200);
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.ok(checkpointer.dirty.bytes >= 100);
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.dirty.bytes, 100);
  await Promise.all([
    checkpointer.storeAll(() => checkpointer.dirty.actors()),
    turnOfEvents().then(() => kind.held.shift()?.end()),
  ]);
  assert.is(checkpointer.dirty.bytes, 0);
});

due('skip a busy actor until its maximum age is over', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  commit(a, b);
  a.isBusy = true;
  checkpointer.startDue(CHECKPOINT_AGE_MS - 1);
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['b']);
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['b', 'a']);
});

for (const group of [due]) group.run();
