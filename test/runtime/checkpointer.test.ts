import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '#platform/metrics';
import { Activation } from '#runtime/activation';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
  RECENT_CALLS_AGE_MS,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#runtime/bounds';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { Journal } from '#storage/journal';
import { memoryJournal } from '#storage/memory/memory-journal';
import { lineOf } from '#test/runtime/journal-records';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { scrapedOf } from '#test/support/scraped';
import { refusalOf, stateOf, turnOfEvents } from '#test/support/settled';
import {
  SlowJournal,
  type Tally,
  type TallyAnswer,
  type TallyCall,
  TallyKind,
} from '#test/support/tally-actor';

const INFINITE = Number.POSITIVE_INFINITY;

/** A kind whose writes end when the test says so. */
class HeldTallyKind extends TallyKind {
  readonly held: { readonly id: string; readonly end: (failure?: Error) => void }[] = [];

  override checkpoint(...given: Parameters<TallyKind['checkpoint']>) {
    const checkpoint = super.checkpoint(...given);
    const write = async (): Promise<void> => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (failure?: Error) => (failure === undefined ? resolve() : reject(failure));
      this.held.push({ id: given[0], end });
      await promise;
      await checkpoint.write();
    };
    return { ...checkpoint, write };
  }
}

function newScene({ kind = new TallyKind(), journal = memoryJournal() as Journal } = {}) {
  const clock = new ManualClock();
  const registry = createMetrics();
  const metrics = runtimeMetrics(registry, 'engine', 'instance');
  const log = new CommitLog(journal, clock);
  const ports = { clock, log, gate: ONE_SHARD, metrics, onBug: () => undefined };
  const checkpointer = new Checkpointer(kind, ports);
  const actorOf = (id: string, shard = 0) => {
    const activation = new Activation<Tally, TallyCall, TallyAnswer>(id, shard, 0);
    activation.state = { sum: 0, unstored: [] };
    activation.isBusy = false;
    return activation;
  };
  /** What a turn's commit does. */
  const commit = (activation: ReturnType<typeof actorOf>): number => {
    if (activation.state !== undefined) kind.apply(activation.state, 1);
    activation.version += 1;
    const { id, version } = activation;
    activation.offset = log.add(lineOf({ actorId: id, version }));
    checkpointer.changed(activation, clock.monotonicMs());
    return activation.offset;
  };
  return { clock, log, kind, checkpointer, actorOf, commit, registry };
}

const remembering = suite('when an actor is stored while it remembers a young call id');

remembering('the id stays for a retry, and its memory is free when it is too old', async () => {
  const { clock, checkpointer, actorOf, commit } = newScene();
  const activation = actorOf('a');
  commit(activation);
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

remembering('others are freed in time although one was stored again meanwhile', async () => {
  const { clock, checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  const store = async (activation: typeof a): Promise<void> => {
    activation.recent.add(clock.monotonicMs() + 1, 1, clock.monotonicMs());
    commit(activation);
    await checkpointer.storeAll(() => true);
  };
  await store(a);
  clock.advance(1_000);
  await store(b);
  clock.advance(RECENT_CALLS_AGE_MS - 1_000);
  await store(a);
  clock.advance(1_001);
  checkpointer.forgetOldCalls(clock.monotonicMs());
  assert.equal([a.hasRecentCalls, b.hasRecentCalls], [true, false]);
});

const ahead = suite('storing ahead');

ahead('takes every wanted actor once, and does not wait for what comes meanwhile', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const [a, b, c] = [actorOf('a'), actorOf('b'), actorOf('c')];
  for (const actor of [a, b, c]) commit(actor);
  c.isBusy = true;
  const stored = checkpointer.storeAhead((activation) => activation !== b);
  await turnOfEvents();
  assert.is(kind.held.length, 1, 'one is not wanted, and one has a turn');
  commit(a);
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.unflushedRecords, 3);
});

ahead('leaves dirty what it could not write', async () => {
  const { kind, checkpointer, actorOf, commit, registry } = heldScene();
  commit(actorOf('a'));
  const stored = checkpointer.storeAhead(() => true);
  await turnOfEvents();
  kind.held.shift()?.end(new Error('down'));
  await stored;
  assert.equal(await scrapedOf(registry, /^checkpoint_failures_total/), {
    'checkpoint_failures_total{service="engine"}': 1,
  });
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [1, 1]);
});

const lowest = suite('the lowest offset that dirty actors need');

lowest('is that of the oldest record that is in no checkpoint', async () => {
  const { checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  assert.is(checkpointer.lowest, INFINITE);
  commit(a);
  commit(b);
  commit(a);
  assert.is(checkpointer.lowest, 1);
  await checkpointer.storeAll((activation) => activation === a);
  assert.is(checkpointer.lowest, 2);
  await checkpointer.storeAll(() => true);
  assert.is(checkpointer.lowest, INFINITE);
});

lowest('does not move before the write is confirmed, nor when it fails', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  commit(actorOf('a'));
  const stored = refusalOf(() => checkpointer.storeAll(() => true));
  await turnOfEvents();
  assert.is(checkpointer.lowest, 1);
  kind.held.shift()?.end(new Error('down'));
  await stored;
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [1, 1]);
});

lowest('moves only past what the checkpoint held when it was taken', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const a = actorOf('a');
  commit(a);
  commit(a);
  const stored = checkpointer.storeAll(() => true);
  await turnOfEvents();
  commit(a);
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [3, 1]);
  assert.equal(a.state?.unstored, [1]);
  await turnOfEvents();
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.lowest, INFINITE);
});

lowest('is the first behind the checkpoint, however many came while it was written', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const a = actorOf('a');
  commit(a);
  const stored = checkpointer.storeAll(() => true);
  await turnOfEvents();
  commit(a);
  commit(a);
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [2, 2]);
  await turnOfEvents();
  kind.held.shift()?.end();
  await stored;
});

lowest('is that of the tailRecovery for what was run again', async () => {
  const { checkpointer, actorOf, commit } = newScene();
  const a = actorOf('a');
  for (let i = 0; i < 9; i += 1) commit(actorOf(`b${i}`));
  await checkpointer.storeAll(() => true);
  checkpointer.recovered(a, 5, 4);
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [4, 5]);
  commit(a);
  assert.is(checkpointer.lowest, 4);
  await checkpointer.storeAll(() => true);
  assert.is(checkpointer.lowest, INFINITE);
});

const order = suite('a checkpoint');

order('waits until what it holds is durable', async () => {
  const journal = new SlowJournal();
  const { kind, checkpointer, actorOf, commit } = newScene({ journal });
  commit(actorOf('a'));
  const stored = checkpointer.storeAll(() => true);
  assert.is(await stateOf(stored), 'pending');
  assert.is(kind.writes, 0);
  await journal.succeed();
  await stored;
  assert.is(kind.writes, 1);
});

order('is not written when the journal ends before', async () => {
  const journal = new SlowJournal();
  const { kind, checkpointer, actorOf, commit } = newScene({ journal });
  commit(actorOf('a'));
  const refused = refusalOf(() => checkpointer.storeAll(() => true));
  await journal.fail();
  await refused;
  assert.is(kind.writes, 0);
});

order('comes after what the actor owes, and not at all while that fails', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const a = actorOf('a');
  commit(a);
  let isDown = true;
  const steps: number[] = [];
  a.pendingEffect = async () => {
    steps.push(kind.writes);
    if (isDown) throw new Error('down');
  };
  await refusalOf(() => checkpointer.storeAll(() => true));
  assert.equal([steps, kind.writes, checkpointer.lowest], [[0], 0, 1]);
  isDown = false;
  await checkpointer.storeAll(() => true);
  assert.equal([steps, kind.writes], [[0, 0], 1]);
  assert.is(a.pendingEffect, undefined);
});

order('leaves pendingEffect what was committed meanwhile', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const a = actorOf('a');
  commit(a);
  a.pendingEffect = async () => undefined;
  const stored = checkpointer.storeAll(() => true);
  await turnOfEvents();
  const later = async () => undefined;
  commit(a);
  a.pendingEffect = later;
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.is(a.pendingEffect, later);
  kind.held.shift()?.end();
  await stored;
});

const due = suite('checkpoints in the background');

due('give way to other work after each slice, and then go on', async () => {
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

due('that fail are counted, and tried again only by the next sweep', async () => {
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

due('tell how long their actors were dirty, in seconds', async () => {
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

due('are not begun a second time by a shard that closes', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  commit(actorOf('a'));
  clock.advance(CHECKPOINT_AGE_MS);
  checkpointer.startDue(clock.monotonicMs());
  await turnOfEvents();
  const stored = checkpointer.storeAll(() => true);
  await pass(clock, 5, 1);
  assert.is(kind.held.length, 1);
  kind.held.shift()?.end();
  await pass(clock, 5, 1);
  assert.equal(await stateOf(stored), { value: undefined });
});

due('begin at 20 s and not before', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  commit(actorOf('a'));
  for (let nowMs = 0; nowMs < CHECKPOINT_AGE_MS; nowMs += 999) checkpointer.startDue(nowMs);
  await turnOfEvents();
  assert.is(kind.writes, 0);
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  await turnOfEvents();
  assert.is(kind.writes, 1);
});

due('begin with the oldest, 8 at once', async () => {
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

due('are as many in every second when many actors keep changing', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = newScene();
  const actors = Array.from({ length: 400 }, (_, i) => actorOf(`a${i}`));
  const written: number[] = [];
  for (let second = 0; second < 80; second += 1) {
    for (const actor of actors) commit(actor);
    clock.advance(1_000);
    const before = kind.writes;
    checkpointer.startDue(clock.monotonicMs());
    // More than may be in flight at once: the later ones begin when the first have ended.
    for (let slices = 0; slices < 10; slices += 1) {
      clock.advance(0);
      await turnOfEvents();
    }
    written.push(kind.writes - before);
  }
  assert.equal(new Set(written), new Set([20]));
});

due('are all begun at 20 s when a wave is not repeated', async () => {
  const { clock, checkpointer, actorOf, commit } = newScene();
  for (let i = 0; i < 6; i += 1) commit(actorOf(`a${i}`));
  for (let second = 0; second < 20; second += 1) {
    assert.ok(checkpointer.unflushedRecords > 0);
    clock.advance(1_000);
    checkpointer.startDue(clock.monotonicMs());
    await turnOfEvents();
  }
  assert.is(checkpointer.unflushedRecords, 0);
});

due('of those that stay are no more because others are about to leave memory', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  for (let i = 0; i < 38; i += 1) commit(actorOf(`a${i}`));
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

due('begin at once for whoever is about to leave memory, as soon as there is room', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  const actors = Array.from({ length: 3 * CHECKPOINTS_IN_FLIGHT_MAX }, (_, i) => actorOf(`a${i}`));
  for (const actor of actors) {
    commit(actor);
    checkpointer.storeSoon(actor);
  }
  const [, , back, other] = actors.slice(CHECKPOINTS_IN_FLIGHT_MAX);
  if (back === undefined || other === undefined) throw new Error('there are more');
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

due('begin with the old when others are about to leave memory', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  const old = actorOf('old');
  commit(old);
  clock.advance(CHECKPOINT_AGE_MS);
  // It has a turn when the sweep comes by. From here on the pace has nothing saved up for others.
  old.isBusy = true;
  checkpointer.startDue(clock.monotonicMs());
  old.isBusy = false;
  for (let i = 0; i < 2 * CHECKPOINTS_IN_FLIGHT_MAX; i += 1) {
    const leaving = actorOf(`a${i}`);
    commit(leaving);
    checkpointer.storeSoon(leaving);
  }
  await turnOfEvents();
  for (const { end } of kind.held.splice(0)) end();
  await pass(clock, 1, 1);
  const ids = kind.held.map(({ id }) => id);
  assert.equal(ids.slice(0, 2), ['old', `a${CHECKPOINTS_IN_FLIGHT_MAX}`]);
  assert.is(ids.length, CHECKPOINTS_IN_FLIGHT_MAX);
});

due('share their bound with shards that close', async () => {
  const { clock, kind, checkpointer, actorOf, commit } = heldScene();
  for (let i = 0; i < 5; i += 1) commit(actorOf(`a${i}`, 0));
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  for (const shard of [1, 2])
    for (let i = 0; i < 9; i += 1) commit(actorOf(`s${shard}-${i}`, shard));
  const closed = [1, 2].map((shard) => checkpointer.storeAll((actor) => actor.shard === shard));
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

due('begin at once, whatever the age, when the tail is over half its bound', async () => {
  for (const [records, bytes] of [
    [UNFLUSHED_RECORDS_MAX / 2 + 1, 0],
    [1, UNFLUSHED_BYTES_MAX / 2 + 1],
  ] as const) {
    const { kind, checkpointer, actorOf } = newScene();
    checkpointer.recovered(actorOf('a'), records - 1, 1);
    checkpointer.startDue(0);
    await turnOfEvents();
    assert.is(kind.writes, 0);
    const b = actorOf('b');
    kind.unstoredBytes = bytes;
    b.state?.unstored.push(1);
    checkpointer.recovered(b, 1, 1);
    assert.ok(checkpointer.tail > 0.5);
    checkpointer.startDue(0);
    await turnOfEvents();
    assert.ok(kind.writes > 0);
  }
});

due('leave the tail as full as what is still held', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  commit(a);
  commit(a);
  commit(b);
  assert.is(checkpointer.unflushedBytes, 300);
  const stored = checkpointer.storeAll((activation) => activation === a);
  await turnOfEvents();
  commit(a);
  assert.is(checkpointer.unflushedBytes, 400);
  // A commit may let go of what came before it, as a removal does.
  a.state?.unstored.splice(0);
  commit(a);
  assert.is(checkpointer.unflushedBytes, 200);
  kind.held.shift()?.end();
  await turnOfEvents();
  assert.ok(checkpointer.unflushedBytes >= 100);
  kind.held.shift()?.end();
  await stored;
  assert.is(checkpointer.unflushedBytes, 100);
  await Promise.all([
    checkpointer.storeAll(() => true),
    turnOfEvents().then(() => kind.held.shift()?.end()),
  ]);
  assert.is(checkpointer.unflushedBytes, 0);
});

due('pass over an actor that is busy', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  commit(a);
  commit(b);
  a.isBusy = true;
  checkpointer.startDue(CHECKPOINT_AGE_MS);
  await turnOfEvents();
  assert.equal([...kind.stored.keys()], ['b']);
});

const abandoned = suite('an actor that is somebody else’s now');

abandoned('is needed no more, and a write under way changes no account', async () => {
  const { kind, checkpointer, actorOf, commit } = heldScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  commit(a);
  commit(b);
  commit(a);
  const stored = checkpointer.storeAll((activation) => activation === a);
  await turnOfEvents();
  checkpointer.abandon(a);
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [2, 1]);
  kind.held.shift()?.end();
  await stored;
  assert.equal([checkpointer.lowest, checkpointer.unflushedRecords], [2, 1]);
  assert.ok(a.isAbandoned);
});

const tail = suite('how full the tail is');

tail('follows what is committed, stored and given up, in records and in bytes', async () => {
  const { kind, checkpointer, actorOf, commit } = newScene();
  const [a, b] = [actorOf('a'), actorOf('b')];
  const share = (bytes: number) => bytes / UNFLUSHED_BYTES_MAX;
  const large = UNFLUSHED_BYTES_MAX / 4;
  kind.unstoredBytes = large;
  assert.is(checkpointer.tail, 0);
  commit(a);
  commit(b);
  commit(a);
  assert.is(checkpointer.tail, share(3 * large));
  await checkpointer.storeAll((activation) => activation === a);
  assert.is(checkpointer.tail, share(large));
  commit(a);
  checkpointer.abandon(b);
  assert.is(checkpointer.tail, share(large));
  await checkpointer.storeAll(() => true);
  assert.is(checkpointer.tail, 0);
  kind.unstoredBytes = 1;
  checkpointer.recovered(a, UNFLUSHED_RECORDS_MAX / 2, 1);
  assert.is(checkpointer.tail, 0.5);
});

for (const group of [remembering, lowest, ahead, order, due, abandoned, tail]) group.run();

function heldScene() {
  const kind = new HeldTallyKind();
  return { ...newScene({ kind }), kind };
}
