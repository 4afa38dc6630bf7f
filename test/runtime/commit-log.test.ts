import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '#fault/fault';
import {
  APPEND_STALL_MS_MAX,
  GROUP_BYTES_MAX,
  GROUP_LINGER_MS,
  GROUP_RECORDS_MAX,
  LEASE_MS,
  LOW_WATER_MARK_PERIOD_MS,
} from '#runtime/bounds';
import { CommitLog } from '#runtime/commit-log';
import { decodeRecord } from '#runtime/record-codec';
import type { Journal, JournalRecord } from '#storage/journal';
import { memoryJournal } from '#storage/memory/memory-journal';
import { lineOf } from '#test/runtime/journal-records';
import { liveHeapBytes } from '#test/support/garbage';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';

/** Waits one after the other, and what is less than one of them holds. */
const WAITS = 5_000;
const WAIT_BYTES_MAX = 50;

/** A journal whose appends end when the test says so, one after the other. */
class HeldJournal implements Journal {
  readonly isLasting = true;
  readonly groups: { readonly records: readonly JournalRecord[]; readonly lowWaterMark: number }[] =
    [];
  #pending: PromiseWithResolvers<void> | undefined;

  append(lines: readonly string[], lowWaterMark: number): Promise<void> {
    assert.is(this.#pending, undefined, 'one append at a time');
    this.groups.push({ records: lines.map(decodeRecord), lowWaterMark });
    this.#pending = Promise.withResolvers<void>();
    return this.#pending.promise;
  }

  async succeed(): Promise<void> {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.resolve();
    await turnOfEvents();
  }

  async fail(): Promise<void> {
    this.#pending?.reject(new Error('fenced'));
    await turnOfEvents();
  }

  get sizes(): number[] {
    return this.groups.map(({ records }) => records.length);
  }
}

function newScene() {
  const clock = new ManualClock();
  // Not at 0, where ages and times are the same.
  clock.advance(50_000);
  const journal = new HeldJournal();
  const log = new CommitLog(journal, clock);
  /** Adds records of these versions, for which somebody waits. */
  const addVersions = (...versions: readonly number[]): void => {
    for (const version of versions) log.add(lineOf({ version }));
    log.whenDurable(log.added).catch(() => undefined);
  };
  /** Adds so many records in one turn of events, for which somebody waits, and lets it end. */
  const add = async (count: number, event: unknown = 1): Promise<number> => {
    for (let i = 0; i < count; i += 1) log.add(lineOf({ event }));
    const offset = log.added;
    log.whenDurable(offset).catch(() => undefined);
    await turnOfEvents();
    return offset;
  };
  return { clock, journal, log, add, addVersions };
}

const groups = suite('records that come while an append is in flight');

groups('gather and go together, in order', async () => {
  const { journal, log, addVersions } = newScene();
  addVersions(1);
  await turnOfEvents();
  addVersions(2, 3, 4);
  assert.equal(journal.sizes, [1]);
  await journal.succeed();
  assert.equal(
    journal.groups.map(({ records }) => records.map(({ version }) => version)),
    [[1], [2, 3, 4]],
  );
  assert.ok(log.isDurable(1));
  assert.not(log.isDurable(2));
  await journal.succeed();
  assert.ok(log.isDurable(4));
});

groups('go together from the first on when they come in one go', async () => {
  const { journal, addVersions } = newScene();
  addVersions(1, 2);
  queueMicrotask(() => addVersions(3));
  assert.equal(journal.sizes, []);
  await turnOfEvents();
  assert.equal(journal.sizes, [2]);
  await journal.succeed();
  assert.equal(journal.sizes, [2, 1]);
});

groups('go in groups of at most 4,096', async () => {
  const { journal, add } = newScene();
  await add(1);
  await add(GROUP_RECORDS_MAX + 5);
  for (let i = 0; i < 3; i += 1) await journal.succeed();
  assert.equal(journal.sizes, [1, GROUP_RECORDS_MAX, 5]);
});

groups('go in groups of at most 512 KiB, or one larger record alone', async () => {
  const { journal, add } = newScene();
  await add(1);
  const envelope = Buffer.byteLength(lineOf({ event: '' }));
  const half = GROUP_BYTES_MAX / 2 - envelope;
  await add(3, 'x'.repeat(half));
  await add(1, 'x'.repeat(GROUP_BYTES_MAX * 2));
  // Two that are a byte too long together: what counts is what is stored.
  await add(2, `${'x'.repeat(half - 1)}ü`);
  for (let i = 0; i < 6; i += 1) await journal.succeed();
  assert.equal(journal.sizes, [1, 2, 1, 1, 1, 1]);
});

groups('are each waited for alone, not with what comes later', async () => {
  const { journal, log, add } = newScene();
  const first = log.whenDurable(await add(1));
  const second = log.whenDurable(await add(1));
  await journal.succeed();
  assert.equal([await stateOf(first), await stateOf(second)], [{ value: undefined }, 'pending']);
});

const unhurried = suite('records that nobody waits for');

unhurried('gather for 10 ms and go together', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf({ version: 1 }));
  await pass(clock, GROUP_LINGER_MS - 1, 1);
  log.add(lineOf({ version: 2 }));
  const isNoticed = log.whenNoticed(log.added);
  assert.is(await stateOf(isNoticed), 'pending');
  assert.equal(journal.sizes, []);
  await pass(clock, 1, 1);
  assert.equal(journal.sizes, [2]);
  assert.is(await stateOf(isNoticed), 'pending');
  await journal.succeed();
  assert.equal(await stateOf(isNoticed), { value: undefined });
});

unhurried('go at once when somebody waits for one of them after all', async () => {
  const { journal, log } = newScene();
  for (const version of [1, 2]) log.add(lineOf({ version }));
  await turnOfEvents();
  log.whenDurable(1).catch(() => undefined);
  await turnOfEvents();
  assert.equal(journal.sizes, [2]);
});

unhurried('gather behind an append that is in flight, and on when it has ended', async () => {
  const { clock, journal, log, add } = newScene();
  await add(1);
  log.add(lineOf());
  log.whenDurable(1).catch(() => undefined);
  await journal.succeed();
  assert.equal(journal.sizes, [1]);
  await pass(clock, GROUP_LINGER_MS, 1);
  assert.equal(journal.sizes, [1, 1]);
});

unhurried('go right after an append that takes longer', async () => {
  const { clock, journal, log, add } = newScene();
  await add(1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS, 1);
  assert.equal(journal.sizes, [1]);
  await journal.succeed();
  assert.equal(journal.sizes, [1, 1]);
});

unhurried('gather for 10 ms again after a group has gone', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS / 2, 1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS / 2, 1);
  await journal.succeed();
  await pass(clock, 2, 1);
  log.add(lineOf());
  await pass(clock, GROUP_LINGER_MS - 1, 1);
  assert.equal(journal.sizes, [2]);
  await pass(clock, 1, 1);
  assert.equal(journal.sizes, [2, 1]);
});

unhurried('are noticed at once when they are durable already', async () => {
  const { journal, log, add } = newScene();
  const offset = await add(1);
  await journal.succeed();
  assert.equal(await stateOf(log.whenNoticed(offset)), { value: undefined });
});

const lease = suite('the read lease');

lease('is not there before the first append has succeeded', async () => {
  const { journal, log, add } = newScene();
  assert.not(log.isLeased());
  await add(1);
  assert.not(log.isLeased());
  await journal.succeed();
  assert.ok(log.isLeased());
});

lease('runs 2 s from the beginning of the append, by the monotonic clock', async () => {
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
  lease(`ends when the wall clock steps by ${stepMs} ms, as after a sleep`, async () => {
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

lease('is over when the journal has ended', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  await journal.succeed();
  log.end(new Error('taken'));
  assert.not(log.isLeased());
});

lease('needs nothing where nobody can take over', async () => {
  const log = new CommitLog(memoryJournal(), new ManualClock());
  assert.ok(log.isLeased());
  await log.whenConfirmed();
});

const confirmed = suite('an answer that waits for confirmation');

confirmed('starts an append of its own on a quiet journal', async () => {
  const { journal, log } = newScene();
  const waits = log.whenConfirmed();
  await turnOfEvents();
  assert.equal(journal.sizes, [0]);
  assert.is(await stateOf(waits), 'pending');
  await journal.succeed();
  await waits;
});

confirmed('is not answered by the append that was in flight, but by the next', async () => {
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

confirmed('shares the next append with others and with records', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  const waits = Promise.all([log.whenConfirmed(), log.whenConfirmed()]);
  await add(2);
  await journal.succeed();
  await journal.succeed();
  await waits;
  assert.equal(journal.sizes, [1, 2]);
});

const end = suite('when the journal ends');

end('what waits is refused with an unknown outcome, what comes as not done', async () => {
  const { journal, log, add } = newScene();
  const [inFlight, open] = [await add(1), await add(1)];
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
  assert.equal(journal.sizes, [1]);
});

end('an append that succeeds all the same makes nothing durable any more', async () => {
  const { journal, log, add } = newScene();
  const offset = await add(1);
  const waits = refusalOf(() => log.whenDurable(offset));
  log.end(new Error('taken'));
  await journal.succeed();
  assert.ok((await waits) as Fault);
  assert.not(log.isDurable(1));
  const late = (await refusalOf(() => log.whenDurable(offset))) as Fault;
  assert.ok(late.isOutcomeUnknown, 'it may be durable all the same');
});

end('nothing is appended any more, not even what was about to be', async () => {
  const { clock, journal, log } = newScene();
  log.add(lineOf());
  log.whenDurable(1).catch(() => undefined);
  log.end(new Error('taken'));
  await pass(clock, 2 * GROUP_LINGER_MS, 1);
  log.beat(0);
  assert.equal(journal.sizes, []);
});

end('its first failure is the one that callers are told', async () => {
  const { journal, log, add } = newScene();
  await add(1);
  log.end(new Error('taken'));
  log.end(new Error('later'));
  await journal.fail();
  const refusal = await refusalOf(() => log.assertAlive());
  assert.is((refusal.cause as Error).message, 'taken');
});

const over = suite('a wait that is over');

over('leaves nothing in memory', async () => {
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
  assert.ok(left < WAITS * WAIT_BYTES_MAX, `${left} bytes are left of ${WAITS} waits`);
});

const stall = suite('when an append has no answer for 3 s');

stall('nothing more is taken in until it has one', async () => {
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

const low = suite('the group from which on all are needed');

/** The low-water mark of the append that a second's quiet and one more record make. */
async function lowAfter({ journal, clock, add }: ReturnType<typeof newScene>): Promise<number> {
  clock.advance(LOW_WATER_MARK_PERIOD_MS);
  await add(1);
  const mark = journal.groups.at(-1)?.lowWaterMark ?? -1;
  await journal.succeed();
  return mark;
}

low('is the one with the lowest offset that any keeper names', async () => {
  const scene = newScene();
  const { journal, log, add } = scene;
  let [lowest, other] = [1, Number.POSITIVE_INFINITY];
  log.keep(() => lowest);
  log.keep(() => other);
  for (let i = 0; i < 6; i += 1) {
    await add(1);
    await journal.succeed();
  }
  assert.is(await lowAfter(scene), 0);
  lowest = 3;
  assert.is(await lowAfter(scene), 2);
  lowest = 6;
  other = 5;
  assert.is(await lowAfter(scene), 4);
  other = Number.POSITIVE_INFINITY;
  assert.is(await lowAfter(scene), 5);
});

low('never includes an append that is in flight', async () => {
  const scene = newScene();
  scene.log.keep(() => Number.POSITIVE_INFINITY);
  await scene.add(1);
  await scene.journal.succeed();
  assert.is(await lowAfter(scene), 1);
  assert.is(await lowAfter(scene), 2);
});

low('is looked up once a second', async () => {
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

const beat = suite('the beat of a quiet journal');

beat('appends an empty group, but not beside other appends', async () => {
  const { journal, log, add, clock } = newScene();
  log.beat(750);
  log.beat(750);
  assert.equal(journal.sizes, [0]);
  await journal.succeed();
  clock.advance(749);
  log.beat(750);
  assert.equal(journal.sizes, [0]);
  clock.advance(1);
  log.beat(750);
  assert.equal(journal.sizes, [0, 0]);
  await add(1);
  await journal.succeed();
  log.beat(0);
  assert.equal(journal.sizes, [0, 0, 1]);
});

for (const group of [groups, unhurried, lease, confirmed, end, over, stall, low, beat]) group.run();
