import { linesOf } from '#actor-runtime/record-codec';
import type { Mutation } from '#test/simulation/faults/replica-partition';
import { resolveSlots, type SlotRow } from '#test/simulation/stored/journal-rows';
import { Violation } from '#test/simulation/stored/version-index';

/** Callbacks for journal changes. Each callback is called immediately after its change. */
export type JournalListener = {
  readonly begun: (incarnation: string, by: string) => void;
  /** A process has requested a seal, which may take effect at any time. */
  readonly sealing: (incarnation: string, by: string) => void;
  /** Any two replicas now return the slot and all earlier slots. */
  readonly appended: (incarnation: string, slot: number, lines: readonly string[]) => void;
  /** The lines are no longer readable, or are not read because the journal ends before the slot. */
  readonly withdrawn: (incarnation: string, slot: number, lines: readonly string[]) => void;
  /** A replica has deleted the slots below `below`. */
  readonly truncated: (incarnation: string, below: number) => void;
  /** A process has decided the end of a journal. */
  readonly ended: (incarnation: string, by: string) => void;
  readonly fail: (violation: Violation) => void;
};

/** Slot content that any two replicas return. `bytes` is undefined if copies differ. */
type Standing = { readonly lines: readonly string[]; readonly bytes: Uint8Array | undefined };

/** State of a watched journal. */
type Watched = {
  /** Content by slot, including slots above a gap. */
  readonly standing: Map<number, Standing>;
  /** First slot that at least two replicas lack. */
  gap: number;
  low: number;
  end: number | undefined;
};

/** Returns a slot's row of each replica. */
type RowsOf = (incarnation: string, slot: number) => readonly (SlotRow | undefined)[];

/**
 * Tracks which slots a sealer would find on the replicas now. Fails if two different ends are
 * decided, or an end beyond the readable slots.
 */
export class JournalWatch {
  readonly #rowsOf: RowsOf;
  readonly #listener: JournalListener;
  readonly #journals = new Map<string, Watched>();

  constructor(rowsOf: RowsOf, listener: JournalListener) {
    this.#rowsOf = rowsOf;
    this.#listener = listener;
  }

  /** Must be called after a replica has applied a mutation. */
  applied(incarnation: string, { cells, deletions }: Mutation<number, SlotRow>): void {
    const journal = this.#journal(incarnation);
    for (const { key } of cells) this.#update(incarnation, journal, key);
    this.#advance(incarnation, journal);
    const below = Math.max(0, ...deletions.map((deletion) => deletion.below ?? 0));
    if (below > journal.low) this.#truncate(incarnation, journal, below);
  }

  /** Must be called after a sealer has decided an end. */
  decided(incarnation: string, end: number, by: string): void {
    const journal = this.#journal(incarnation);
    if (journal.end !== undefined) {
      if (journal.end !== end) this.#fail(`${incarnation} has two ends: ${journal.end} and ${end}`);
      return;
    }
    if (end > journal.gap) {
      this.#fail(`${incarnation} ends at ${end}, but slot ${journal.gap} is unreadable`);
    }
    journal.end = end;
    this.#listener.ended(incarnation, by);
    for (let slot = end; slot < journal.gap; slot += 1) {
      this.#listener.withdrawn(incarnation, slot, journal.standing.get(slot)?.lines ?? []);
    }
  }

  #update(incarnation: string, journal: Watched, slot: number): void {
    if (slot < journal.low || slot >= (journal.end ?? Number.POSITIVE_INFINITY)) return;
    const before = journal.standing.get(slot);
    const rows = this.#rowsOf(incarnation, slot);
    if (before !== undefined && rows.every((row) => row?.records === before.bytes)) return;
    const now = standingOf(rows);
    if (now === undefined) return;
    journal.standing.set(slot, now);
    if (slot >= journal.gap) return;
    const lost = before?.lines.filter((line) => !now.lines.includes(line)) ?? [];
    const gained = now.lines.filter((line) => !before?.lines.includes(line));
    if (gained.length > 0) this.#listener.appended(incarnation, slot, gained);
    if (lost.length > 0) this.#listener.withdrawn(incarnation, slot, lost);
  }

  #advance(incarnation: string, journal: Watched): void {
    for (;;) {
      const standing = journal.standing.get(journal.gap);
      if (standing === undefined) return;
      this.#listener.appended(incarnation, journal.gap, standing.lines);
      journal.gap += 1;
    }
  }

  #truncate(incarnation: string, journal: Watched, below: number): void {
    journal.low = below;
    for (const slot of journal.standing.keys()) if (slot < below) journal.standing.delete(slot);
    this.#listener.truncated(incarnation, below);
    journal.gap = Math.max(journal.gap, below);
    this.#advance(incarnation, journal);
  }

  #journal(incarnation: string): Watched {
    const known = this.#journals.get(incarnation);
    if (known !== undefined) return known;
    const fresh = { standing: new Map(), gap: 0, low: 0, end: undefined };
    this.#journals.set(incarnation, fresh);
    return fresh;
  }

  #fail(text: string): void {
    this.#listener.fail(new Violation(`the journal of ${text}`));
  }
}

/** Content that any two replicas return; undefined if two replicas have no row. */
function standingOf(rows: readonly (SlotRow | undefined)[]): Standing | undefined {
  const found = rows.flatMap((row) => row?.records ?? []);
  const [first] = found;
  if (first === undefined || found.length < rows.length - 1) return undefined;
  if (found.every((records) => Buffer.compare(records, first) === 0)) {
    return { lines: linesOf(first), bytes: first };
  }
  const pairs = rows.flatMap((one, place) => {
    return rows.slice(place + 1).map((other) => {
      const row = one && other ? resolveSlots(one, other) : (one ?? other);
      return row?.records === undefined ? [] : linesOf(row.records);
    });
  });
  const lines = pairs.reduce((some, others) => some.filter((line) => others.includes(line)));
  return { lines, bytes: undefined };
}
