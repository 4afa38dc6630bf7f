import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  APPEND_STALL_MS_MAX,
  GROUP_LINGER_MS,
  LOW_WATER_MARK_PERIOD_MS,
} from '#actor-runtime/actor-bounds';
import type { Fault } from '#errors/fault';
import { newScene } from '#test/actor-runtime/commit-log/commit-log-fixture';
import { lineOf } from '#test/actor-runtime/commit-log/journal-records';
import { liveHeapBytes } from '#test/support/garbage';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

/** Number of successive waits. */
const WAITS = 5_000;
/** Maximum heap bytes per wait that has ended. */
const WAIT_BYTES_MAX = 50;

const end = suite('when the journal ends');

end('waiting calls fail with an unknown outcome, and later calls fail without effect', async () => {
  const { journal, log, add } = newScene();
  const [inFlight, , open] = [await add(1), await add(1), await add(1)];
  const waits = refusalOf(() => log.whenDurable(inFlight));
  const later = refusalOf(() => log.whenDurable(open));
  const read = refusalOf(() => log.whenConfirmed());
  await journal.fail();
  for (const refusal of [await waits, await later, await read]) {
    assert.equal(
      [(refusal as Fault).code, (refusal as Fault).isOutcomeUnknown, (refusal as Fault).reason],
      ['service_unavailable', true, 'engine_unavailable'],
    );
  }
  for (const action of [
    () => log.assertOpen(),
    () => log.assertAlive(),
    () => log.whenConfirmed(),
  ]) {
    const refusal = (await refusalOf(action)) as Fault;
    assert.equal([refusal.code, refusal.isOutcomeUnknown], ['service_unavailable', false]);
  }
  assert.equal(journal.sizes, [1, 1]);
});

end('an append that succeeds afterwards makes nothing durable in this process', async () => {
  const { journal, log, add } = newScene();
  const offset = await add(1);
  const waits = refusalOf(() => log.whenDurable(offset));
  log.end(new Error('taken'));
  await journal.succeed();
  assert.ok((await waits) as Fault);
  assert.not(log.isDurable(1));
  const late = (await refusalOf(() => log.whenDurable(offset))) as Fault;
  assert.ok(late.isOutcomeUnknown, 'the record may be durable nevertheless');
});

end('nothing more is appended, including the group that was about to be sent', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf());
  log.whenDurable(1).catch(() => undefined);
  log.end(new Error('taken'));
  await pass(clock, 2 * GROUP_LINGER_MS, 1);
  log.beat(0);
  assert.equal(journal.sizes, []);
});

end('callers get the first failure of the journal', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  log.end(new Error('taken'));
  log.end(new Error('later'));
  await journal.fail();
  const refusal = await refusalOf(() => log.assertAlive());
  assert.is((refusal.cause as Error).message, 'taken');
});

const over = suite('a wait that has ended');

over('keeps no memory', async () => {
  const { journal, log } = newScene();
  log.add(lineOf());
  const first = log.whenDurable(1);
  await turnOfEvents();
  await journal.succeed();
  await first;
  const before = liveHeapBytes();
  for (let i = 0; i < WAITS; i += 1) {
    log.whenDurable(log.add(lineOf())).catch(() => undefined);
    journal.groups.length = 0;
    await Promise.resolve();
    await journal.succeed();
  }
  assert.ok(log.isDurable(WAITS + 1));
  const left = liveHeapBytes() - before;
  assert.ok(left < WAITS * WAIT_BYTES_MAX, `${left} bytes are left after ${WAITS} waits`);
});

const stall = suite('when an append has no answer for 3 s');

stall('no more records are accepted until the append is answered', async () => {
  const { journal, log, add, clock } = newScene();
  await add(1);
  clock.advance(APPEND_STALL_MS_MAX);
  log.assertOpen();
  clock.advance(1);
  const refusal = (await refusalOf(() => log.assertOpen())) as Fault;
  assert.equal([refusal.code, refusal.retryAfterS], ['service_unavailable', 1]);
  log.assertAlive();
  await journal.succeed();
  log.assertOpen();
});

const needed = suite('the low-water mark of the log');

/** Adds a record a second later. Returns the low-water mark in its append. */
async function neededAfter({ journal, clock, add }: ReturnType<typeof newScene>): Promise<number> {
  clock.advance(LOW_WATER_MARK_PERIOD_MS);
  await add(1);
  const mark = journal.groups.at(-1)?.lowWaterMark ?? -1;
  await journal.succeed();
  return mark;
}

needed('is the group with the lowest offset that any keeper needs', async () => {
  const scene = newScene();
  const { journal, log, add } = scene;
  let [lowest, other] = [1, Number.POSITIVE_INFINITY];
  log.keep(() => lowest);
  log.keep(() => other);
  for (let i = 0; i < 6; i += 1) {
    await add(1);
    await journal.succeed();
  }
  assert.is(await neededAfter(scene), 0);
  lowest = 3;
  assert.is(await neededAfter(scene), 2);
  lowest = 6;
  other = 5;
  assert.is(await neededAfter(scene), 4);
  other = Number.POSITIVE_INFINITY;
  assert.is(await neededAfter(scene), 5);
});

needed('never includes an append that is in flight', async () => {
  const scene = newScene();
  scene.log.keep(() => Number.POSITIVE_INFINITY);
  await scene.add(1);
  await scene.journal.succeed();
  assert.is(await neededAfter(scene), 1);
  assert.is(await neededAfter(scene), 2);
});

needed('is computed once a second', async () => {
  const { journal, log, add, clock } = newScene();
  let looks = 0;
  log.keep(() => {
    looks += 1;
    return 1;
  });
  for (let i = 0; i < 4; i += 1) {
    await add(1);
    await journal.succeed();
    clock.advance(LOW_WATER_MARK_PERIOD_MS / 2);
  }
  assert.is(looks, 2);
});

needed('is appended on request, in an empty group', async () => {
  const { journal, log, add } = newScene();
  let lowest = 1;
  log.keep(() => lowest);
  for (let i = 0; i < 3; i += 1) {
    await add(1);
    await journal.succeed();
  }
  lowest = Number.POSITIVE_INFINITY;
  const marked = log.mark();
  await turnOfEvents();
  assert.equal(journal.groups.at(-1), { records: [], lowWaterMark: 3 });
  assert.is(await stateOf(marked), 'pending');
  await journal.succeed();
  await marked;
});

for (const group of [end, over, stall, needed]) group.run();
