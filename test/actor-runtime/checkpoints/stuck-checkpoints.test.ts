import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
  LONE_CHECKPOINTS_IN_FLIGHT_MAX,
} from '#actor-runtime/actor-bounds';
import { heldScene, newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { pass } from '#test/support/passing';
import { turnOfEvents } from '#test/support/settled';

const stuck = suite('checkpoints while other checkpoints fail or hang');

stuck('start as soon as one write has ended, even if other writes have no answer', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  commit(...Array.from({ length: CHECKPOINTS_IN_FLIGHT_MAX + 2 }, (_, i) => actorOf(`a${i}`)));
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  await turnOfEvents();
  clock.advance(CHECKPOINT_AGE_MS);
  kind.held.shift()?.end();
  await pass(clock, 1, 1);
  assert.is(kind.held.length, CHECKPOINTS_IN_FLIGHT_MAX);
  assert.is(kind.held.at(-1)?.id, `a${CHECKPOINTS_IN_FLIGHT_MAX}`);
});

stuck('leave write slots for other actors if side effects fail repeatedly', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = newScene();
  const failing = Array.from({ length: CHECKPOINTS_IN_FLIGHT_MAX }, (_, i) => actorOf(`f${i}`));
  const other = actorOf('other');
  commit(...failing, other);
  const tried = new Set<string>();
  for (const actor of failing) {
    checkpointer.dirty.effectPending(actor, async () => {
      tried.add(actor.id);
      throw new Error('the directory does not answer');
    });
  }
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['other']);
  assert.is(tried.size, LONE_CHECKPOINTS_IN_FLIGHT_MAX);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  assert.is(tried.size, failing.length, 'failed actors go after actors that have not been tried');
});

stuck.run();
