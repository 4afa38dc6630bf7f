import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHECKPOINT_AGE_MS, EARLY_WRITES_IN_FLIGHT_MAX } from '#actor-runtime/actor-bounds';
import type { EarlyRows } from '#actor-runtime/event-sourcing';
import { HEADS_MAX } from '#storage/ports/instances';
import { byLetter, newScene } from '#test/actor-runtime/checkpoints/checkpointer-fixture';
import { turnOfEvents } from '#test/support/settled';
import { SlowJournal, type Tally, TallyKind } from '#test/support/tally-actor';

/** Size of a note in bytes. */
const NOTE_BYTES = 100;
/** Room for notes in bytes. The sixth note starts a write. Ten notes fill the room. */
const ROOM_BYTES = 1_000;

type Notes = { readonly id: string; readonly notes: readonly string[] };

/**
 * A kind in which every change adds a note as an early row. Writes of notes end when the test
 * decides.
 */
class NotedTallyKind extends TallyKind {
  readonly held: { readonly copies: readonly Notes[]; readonly end: (failure?: Error) => void }[] =
    [];
  readonly #notes = new WeakMap<Tally, string[]>();
  override bucketOf = byLetter;
  readonly earlyRows: EarlyRows<Tally, Notes> = {
    sizeOf: (state) => this.notesOf(state).length * NOTE_BYTES,
    copy: (id, state) => {
      const notes = [...this.notesOf(state)];
      return { copy: { id, notes }, forget: (later) => this.#drop(later, notes) };
    },
    store: (copies) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (failure?: Error) => (failure === undefined ? resolve() : reject(failure));
      this.held.push({ copies, end });
      return promise;
    },
  };

  override apply(state: Tally, added: number) {
    this.#notes.set(state, [...this.notesOf(state), `note ${state.unstored.length}`]);
    return super.apply(state, added);
  }

  override sizeOfUnstored(state: Tally): number {
    return super.sizeOfUnstored(state) + this.notesOf(state).length * NOTE_BYTES;
  }

  notesOf(state: Tally): readonly string[] {
    return this.#notes.get(state) ?? [];
  }

  #drop(state: Tally, notes: readonly string[]): void {
    const left = this.notesOf(state).filter((note) => !notes.includes(note));
    this.#notes.set(state, left);
  }
}

function noted(journal?: SlowJournal) {
  const kind = new NotedTallyKind();
  const config = { earlyRowsBytesMax: ROOM_BYTES };
  const scene = newScene({ kind, config, ...(journal === undefined ? {} : { journal }) });
  const due = async (): Promise<void> => {
    scene.checkpointer.startDue(scene.clock.monotonicMs());
    await turnOfEvents();
  };
  const written = () => kind.held.map(({ copies }) => copies.map(({ id }) => id).join(' '));
  const end = async (failure?: Error): Promise<void> => {
    kind.held.shift()?.end(failure);
    await turnOfEvents();
  };
  return { ...scene, kind, due, written, end };
}

const early = suite('early rows');

early('are stored by bucket when they fill more than half of their room', async () => {
  const { actorOf, commit, due, written, end, checkpointer, kind } = noted();
  const [a1, b1, a2] = [actorOf('a1'), actorOf('b1'), actorOf('a2')];
  commit(a1, a1, b1, a2, a2);
  await due();
  assert.equal(written(), [], 'exactly half of the room starts no write');
  commit(b1);
  await due();
  assert.equal(written(), ['a1 a2'], 'the bucket that has waited longest');
  assert.equal(kind.held[0]?.copies[0]?.notes, ['note 0', 'note 1']);
  await end();
  assert.is(checkpointer.dirty.early.total, 2 * NOTE_BYTES);
  assert.equal([checkpointer.dirty.records, kind.writes], [6, 0], 'no checkpoint was written');
});

early('are kept until the next write if they arrive during a write', async () => {
  const { actorOf, commit, due, written, end, kind, checkpointer } = noted();
  const a1 = actorOf('a1');
  commit(a1, a1, a1, a1, a1, a1);
  await due();
  commit(a1);
  await due();
  assert.equal(written(), ['a1'], 'a bucket has one write at a time');
  await end();
  assert.equal(a1.state && kind.notesOf(a1.state), ['note 6']);
  assert.is(checkpointer.dirty.early.total, NOTE_BYTES);
});

early('are kept after a failed write, and retried at the next sweep', async () => {
  const { actorOf, commit, due, written, end, checkpointer } = noted();
  commit(...Array.from({ length: 6 }, () => actorOf('a1')));
  await due();
  await end(new Error('the store is down'));
  assert.equal([written(), checkpointer.dirty.early.total], [[], 6 * NOTE_BYTES]);
  await due();
  assert.is(written().length, 1);
});

early('are not stored before their records are durable', async () => {
  const journal = new SlowJournal();
  const { actorOf, commit, due, written } = noted(journal);
  const a1 = actorOf('a1');
  commit(a1, a1, a1, a1, a1, a1);
  await due();
  assert.equal(written(), []);
  await journal.succeed();
  await turnOfEvents();
  assert.equal(written(), ['a1']);
});

early('are not stored if another node owns their actor by now', async () => {
  const journal = new SlowJournal();
  const { actorOf, commit, due, written, checkpointer } = noted(journal);
  const [a1, a2] = [actorOf('a1'), actorOf('a2')];
  commit(a1, a1, a1, a2, a2, a2);
  await due();
  checkpointer.abandon(a1);
  await journal.succeed();
  await turnOfEvents();
  assert.equal([written(), checkpointer.dirty.early.total], [['a2'], 3 * NOTE_BYTES]);
});

early(
  'have a bounded number of concurrent writes, and fill their room while no write ends',
  async () => {
    const { actorOf, commit, due, written, checkpointer } = noted();
    for (let i = 0; i < 10; i += 1) commit(actorOf(`${String.fromCharCode(97 + i)}1`));
    await due();
    assert.is(written().length, EARLY_WRITES_IN_FLIGHT_MAX);
    assert.is(checkpointer.dirty.fill, 1);
  },
);

early(
  'are written in batches of bounded size if many actors of a bucket have early rows',
  async () => {
    const { actorOf, commit, due, kind } = noted();
    for (let i = 0; i < HEADS_MAX + 1; i += 1) commit(actorOf(`a${i}`));
    await due();
    assert.is(kind.held[0]?.copies.length, HEADS_MAX);
  },
);

early('make no checkpoint due earlier, and are part of the checkpoint when it is due', async () => {
  const { actorOf, commit, due, end, clock, checkpointer, kind } = noted();
  const a1 = actorOf('a1');
  commit(a1);
  clock.advance(CHECKPOINT_AGE_MS);
  await due();
  await end();
  assert.equal([kind.writes, checkpointer.dirty.size], [1, 0]);
  assert.is(checkpointer.dirty.early.total, 0);
  assert.is(checkpointer.dirty.bytes, 0);
});

early.run();
