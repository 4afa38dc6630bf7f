import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeEngine } from '#engine/engine-node';
import type { EngineCommand, EventCursor } from '#grpc/engine-messages';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import type { Journal } from '#storage/ports/journal';
import { createMetrics } from '#telemetry/metrics';
import { CREATE, callOf, observed, START_MS } from '#test/engine/instance/instance-fixture';
import { eventsIn } from '#test/support/calls/event-reader';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn, stateOf } from '#test/support/settled';

const ACTORS = { idleAgeMs: 120_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** Time from the start of a call to its deadline, in milliseconds. */
const CALL_MS = 10_000;
/** Time that the command may wait for events, in milliseconds. */
const WAIT_MS = 8_000;

async function scene(journal: Journal = memoryJournal()) {
  const clock = new ManualClock(START_MS);
  const engine = composeEngine(ACTORS, {
    clock,
    metrics: createMetrics(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    feeds: memoryFeedStore(),
    journal,
    onBug: (error) => {
      throw error;
    },
  });
  let callId = 0;
  const ask = async (command: EngineCommand) => {
    callId += 1;
    return engine.ask(callOf(command, { callId, deadlineAtMs: clock.wallMs() + CALL_MS }));
  };
  const wait = (after: EventCursor | undefined, waitMs = WAIT_MS) =>
    ask({ kind: 'readEvents', after, waitMs });
  await ask(CREATE);
  const { cursor } = await wait(undefined, 0);
  assert.ok(cursor);
  return { clock, engine, ask, wait, cursor };
}

const waiting = suite('a call that waits for events');

waiting('is answered when an event happens, and does not block other calls', async () => {
  const { ask, wait, cursor } = await scene();
  const answer = wait(cursor);
  assert.is(await stateOf(answer), 'pending');
  await ask({ kind: 'readSnapshot' });
  assert.is(await stateOf(answer), 'pending');
  await ask(observed());
  const { body, cursor: next } = await answer;
  assert.equal(
    eventsIn(body.toString()).map(({ event }) => event),
    ['cycle', 'state'],
  );
  assert.is(next?.ordinal, 1);
});

waiting('is answered immediately if events already exist', async () => {
  const { ask, wait, cursor } = await scene();
  await ask(observed());
  assert.is.not(await stateOf(wait(cursor)), 'pending');
  assert.is.not(await stateOf(wait({ ...cursor, version: 0 })), 'pending');
});

waiting('is answered without events at the end of its waiting time', async () => {
  const { clock, wait, cursor } = await scene();
  const answer = wait(cursor);
  clock.advance(WAIT_MS - 1);
  assert.is(await stateOf(answer), 'pending');
  clock.advance(1);
  const { body, cursor: same } = await answer;
  assert.equal([body, same], ['', cursor]);
});

waiting('is answered before its deadline, even if its waiting time is longer', async () => {
  const { clock, wait, cursor } = await scene();
  const answer = wait(cursor, CALL_MS);
  clock.advance(CALL_MS - 1_000);
  assert.is((await answer).body, '');
});

waiting('is refused as not found when the instance is deleted', async () => {
  const { ask, wait, cursor } = await scene();
  const refused = faultIn(wait(cursor));
  await ask({ kind: 'remove' });
  assert.is((await refused).code, 'not_found');
});

waiting('is refused immediately when the engine shuts down', async () => {
  const { engine, wait, cursor } = await scene();
  const refused = faultIn(wait(cursor));
  await engine[Symbol.asyncDispose]();
  assert.is((await refused).reason, 'shutting_down');
});

waiting('receives an event only when the event is durable', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  let isHeld = false;
  const journal: Journal = {
    isLasting: true,
    isOnlyWriter: false,
    append: () => (isHeld ? held : Promise.resolve()),
  };
  const { ask, wait, cursor } = await scene(journal);
  isHeld = true;
  const answer = wait(cursor);
  const processed = ask(observed());
  assert.is(await stateOf(answer), 'pending');
  letGo();
  await processed;
  assert.is((await answer).cursor?.ordinal, 1);
});

waiting.run();
