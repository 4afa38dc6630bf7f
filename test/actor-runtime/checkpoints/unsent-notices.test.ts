import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHECKPOINT_AGE_MS } from '#actor-runtime/actor-bounds';
import { newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { turnOfEvents } from '#test/support/settled';

/** A checkpointer whose outbox has unsent notices of the actor `a` until `sent` is called. */
function sceneWithNotices() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isSent = false;
  const outbox = {
    has: (id: string) => id === 'a' && !isSent,
    whenSent: (id: string) => (id === 'a' && !isSent ? promise : undefined),
  };
  const sent = () => {
    isSent = true;
    resolve();
  };
  return { ...newScene({ outbox }), sent, fail: () => reject(new Error('no feed')) };
}

const notices = suite('an actor with unsent notices');

// A crash after the write would lose the notices: the journal no longer has the record.
notices('is stored after its notices are sent, and does not delay others', async () => {
  const { kind, checkpointer, clock, actorOf, commit, sent } = sceneWithNotices();
  commit(actorOf('a'), actorOf('b'));
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['b']);
  sent();
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['b', 'a']);
});

notices('stays dirty if its notices cannot be sent', async () => {
  const { kind, checkpointer, clock, actorOf, commit, fail } = sceneWithNotices();
  const actor = actorOf('a');
  commit(actor);
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  fail();
  await turnOfEvents();
  assert.equal([kind.stored.size, checkpointer.dirty.stateOf(actor)?.records], [0, 1]);
});

notices('is stored before a handoff, after its notices', async () => {
  const { kind, checkpointer, actorOf, commit, sent } = sceneWithNotices();
  const actor = actorOf('a');
  commit(actor);
  const stored = checkpointer.storeAll(() => [actor]);
  await turnOfEvents();
  assert.is(kind.stored.size, 0);
  sent();
  await stored;
  assert.is(kind.stored.size, 1);
});

notices.run();
