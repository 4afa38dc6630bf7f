import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHECKPOINT_AGE_MS, RECENT_CALLS_AGE_MS } from '#actor-runtime/actor-bounds';
import { heldScene, newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { scrapedOf } from '#test/support/scraped';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import { SlowJournal } from '#test/support/tally-actor';

const remembering = suite('when an actor is stored while it remembers a recent call id');

remembering('the id stays for a retry, and its memory is freed when the id expires', async () => {
  const { clock, checkpointer, actorOf, commit } = newScene();
  const activation = actorOf('a');
  commit(activation);
  clock.advance(CHECKPOINT_AGE_MS - 5_000);
  activation.recent.add(7, 1, clock.monotonicMs());
  clock.advance(5_000);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.is(checkpointer.dirty.records, 0);
  checkpointer.forgetOldCalls(clock.monotonicMs());
  assert.is(activation.versionOfCall(7, clock.monotonicMs()), 1);
  clock.advance(RECENT_CALLS_AGE_MS + 1);
  checkpointer.forgetOldCalls(clock.monotonicMs());
  assert.not(activation.hasRecentCalls);
});

remembering(
  'ids of other actors are freed in time although this actor was stored again',
  async () => {
    const { clock, checkpointer, actorOf, commit } = newScene();
    const [a, b] = [actorOf('a'), actorOf('b')];
    const store = async (activation: typeof a): Promise<void> => {
      activation.recent.add(clock.monotonicMs() + 1, 1, clock.monotonicMs());
      commit(activation);
      await checkpointer.storeAll(() => checkpointer.dirty.actors());
    };
    await store(a);
    clock.advance(1_000);
    await store(b);
    clock.advance(RECENT_CALLS_AGE_MS - 1_000);
    await store(a);
    clock.advance(1_001);
    checkpointer.forgetOldCalls(clock.monotonicMs());
    assert.equal([a.hasRecentCalls, b.hasRecentCalls], [true, false]);
  },
);

const ahead = suite('storing actors before a handoff');

ahead('stores every given actor once, and does not wait for later changes', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const [a, b, c] = [actorOf('a'), actorOf('b'), actorOf('c')];
  for (const actor of [a, b, c]) commit(actor);
  c.isBusy = true;
  const stored = checkpointer.storeAhead([a, c]);
  await turnOfEvents();
  assert.is(kind.held.length, 1, 'one actor is not given, and another actor has a turn');
  commit(a);
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.dirty.records, 3);
});

ahead('leaves actors dirty if their write failed', async () => {
  const { kind, checkpointer, actorOf, commit, registry } = heldScene();
  commit(actorOf('a'));
  const stored = checkpointer.storeAhead(checkpointer.dirty.actors());
  await turnOfEvents();
  kind.held.shift()?.end(new Error('down'));
  await stored;
  assert.equal(await scrapedOf(registry, /^checkpoint_failures_total/), {
    'checkpoint_failures_total{service="engine"}': 1,
  });
  assert.equal([checkpointer.dirty.lowest, checkpointer.dirty.records], [1, 1]);
});

const order = suite('a checkpoint');

order('waits until the records that it contains are durable', async () => {
  const journal = new SlowJournal();
  const { kind, checkpointer, actorOf, commit } = newScene({ journal });
  commit(actorOf('a'));
  const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.is(await stateOf(stored), 'pending');
  assert.is(kind.writes, 0);
  await journal.succeed();
  await stored;
  assert.is(kind.writes, 1);
});

order('is not written when the journal ends first', async () => {
  const journal = new SlowJournal();
  const { kind, checkpointer, actorOf, commit } = newScene({ journal });
  commit(actorOf('a'));
  const refused = refusalOf(() => checkpointer.storeAll(() => checkpointer.dirty.actors()));
  await journal.fail();
  await refused;
  assert.is(kind.writes, 0);
});

order('is written after the pending side effect, and not while that effect fails', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const a = actorOf('a');
  commit(a);
  let isDown = true;
  const steps: number[] = [];
  checkpointer.dirty.effectPending(a, async () => {
    steps.push(kind.writes);
    if (isDown) throw new Error('down');
  });
  await refusalOf(() => checkpointer.storeAll(() => checkpointer.dirty.actors()));
  assert.equal([steps, kind.writes, checkpointer.dirty.lowest], [[0], 0, 1]);
  isDown = false;
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.equal([steps, kind.writes], [[0, 0], 1]);
  commit(a);
  await checkpointer.storeAll(() => checkpointer.dirty.actors());
  assert.equal([steps, kind.writes], [[0, 0], 2], 'the effect ran once');
});

order(
  'is followed by the side effect and the checkpoint of a record committed during the write',
  async () => {
    const { kind, checkpointer, actorOf, commit } = heldScene();
    const a = actorOf('a');
    commit(a);
    const done: string[] = [];
    checkpointer.dirty.effectPending(a, async () => void done.push('first'));
    const stored = checkpointer.storeAll(() => checkpointer.dirty.actors());
    await turnOfEvents();
    commit(a);
    checkpointer.dirty.effectPending(a, async () => void done.push('later'));
    kind.held.shift()?.end();
    await turnOfEvents();
    assert.equal(done, ['first', 'later']);
    kind.held.shift()?.end();
    await stored;
  },
);

for (const group of [remembering, ahead, order]) group.run();
