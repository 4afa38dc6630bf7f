import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cutChunks, type HeadBounds } from '#engine/instance/rows';
import { newestRows, rowsOfChunks } from '#storage/ports/chunks';
import type { Chunk, HistoryRow, NewestRows } from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import { ActorTables } from '#test/simulation/simulated/actor-tables';
import { headAt, historyRows } from '#test/storage/contracts/rows';

const ID = 'inst_a';

/** Events of an instance and its node. After each event, the test reads all rows. */
type Step =
  | { readonly kind: 'observe'; readonly count: number }
  /**
   * A checkpoint with `writes` completed writes. If all writes are completed, the checkpoint is
   * stored. Otherwise the next write arrives late if `isLate`.
   */
  | { readonly kind: 'checkpoint'; readonly writes: number; readonly isLate: boolean }
  /** The node fails. A node with other bounds continues from the stored head and the journal. */
  | { readonly kind: 'crash'; readonly bounds: HeadBounds }
  /** A late write arrives. */
  | { readonly kind: 'arrive'; readonly place: number };

/** Value of `writes` that completes all writes except the last write, which stores the head. */
const ALL_BUT_THE_HEAD = -1;

const bounds = fc.record({
  rowsMax: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 32 })),
  bytesMax: fc.integer({ min: 40, max: 2_000 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('observe' as const), count: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    kind: fc.constant('checkpoint' as const),
    writes: fc.oneof(fc.nat(3), fc.constant(ALL_BUT_THE_HEAD), fc.constant(1_000)),
    isLate: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('crash' as const), bounds }),
  fc.record({ kind: fc.constant('arrive' as const), place: fc.nat(3) }),
);

/**
 * An instance whose version is its number of observations. The journal loses nothing, so a crash
 * does not change this number.
 */
class CrashingInstance {
  readonly tables = new ActorTables();
  readonly #late: (() => void)[] = [];
  #bounds: HeadBounds;
  /** Number of observations, stored or not. */
  #count = 0;
  /** Newest rows in the head that the node has in memory. */
  #newest: NewestRows = { after: 0, rows: '' };
  /** Number of observations at the last checkpoint that this node has stored or read. */
  #inHead = 0;

  constructor(first: HeadBounds) {
    this.#bounds = first;
  }

  take(what: Step): void {
    switch (what.kind) {
      case 'observe':
        this.#count += what.count;
        return;
      case 'checkpoint':
        this.#checkpoint(what.writes, what.isLate);
        return;
      case 'crash':
        this.#bounds = what.bounds;
        this.#newest = this.tables.head(ID)?.newestHistory ?? { after: 0, rows: '' };
        this.#inHead = this.tables.head(ID)?.historyCount ?? 0;
        return;
      case 'arrive':
        this.#late.splice(what.place, 1)[0]?.();
        return;
    }
  }

  #checkpoint(writes: number, isLate: boolean): void {
    const version = this.#count;
    if (version === 0) return;
    const fresh = historyRows(this.#inHead + 1, version).map(OBSERVATIONS.pack);
    const { chunks, newest } = cutChunks(this.#newest, fresh, version, this.#bounds);
    const head = headAt(version, { historyCount: version, newestHistory: newest });
    const none = { drift: [], answers: [] };
    const all = [
      ...chunks.map((chunk: Chunk) => () => {
        this.tables.putRows(ID, version, { ...none, history: [chunk] });
      }),
      () => this.tables.putHead(ID, head),
    ];
    for (const write of all.slice(0, writes)) write();
    // The next write was sent without an answer. Later writes were never sent.
    const unanswered = all.at(writes);
    if (isLate && unanswered !== undefined) this.#late.push(unanswered);
    if (unanswered !== undefined) return;
    this.#newest = newest;
    this.#inHead = version;
  }

  /** All rows, as found by a reader of the stored head. */
  stored(): HistoryRow[] {
    const head = this.tables.head(ID);
    return head === undefined ? [] : this.#read(head.newestHistory, head.historyCount);
  }

  /** All rows, as found by the owner of the instance. */
  served(): HistoryRow[] {
    const fresh = historyRows(this.#inHead + 1, this.#count);
    return [...this.#read(this.#newest, this.#inHead), ...fresh];
  }

  get storedCount(): number {
    return this.tables.head(ID)?.historyCount ?? 0;
  }

  get count(): number {
    return this.#count;
  }

  #read(newest: NewestRows, last: number): HistoryRow[] {
    const { after } = newest;
    const chunked = this.tables.history(ID, after, after).reverse();
    return [...chunked, ...newestRows(OBSERVATIONS, ID, newest, last)];
  }
}

const crashes = suite('whenever a node fails while storing rows');

crashes('readers and the next owner find every row exactly once, with any bounds', () => {
  const property = fc.property(
    bounds,
    fc.array(step, { maxLength: 60, size: 'max' }),
    (first, steps) => {
      const instance = new CrashingInstance(first);
      for (const one of steps) {
        instance.take(one);
        assert.equal(instance.stored(), historyRows(1, instance.storedCount));
        assert.equal(instance.served(), historyRows(1, instance.count));
      }
    },
  );
  fc.assert(property, { numRuns: 400 });
});

const overlaps = suite('overlapping chunks');

overlaps('contain each ordinal only once for a reader, wherever the page starts', () => {
  const rows = (first: number, last: number): Chunk => ({
    first,
    last,
    rows: historyRows(first, last).map(OBSERVATIONS.pack).join(''),
  });
  const chunks = [rows(20, 40), rows(9, 32), rows(1, 24), rows(1, 8)];
  for (let newest = 0; newest <= 40; newest += 1) {
    for (const count of [1, 7, 40]) {
      const expected = historyRows(Math.max(1, newest - count + 1), newest).reverse();
      assert.equal(rowsOfChunks(OBSERVATIONS, ID, chunks, newest, count), expected);
    }
  }
});

for (const group of [crashes, overlaps]) group.run();
