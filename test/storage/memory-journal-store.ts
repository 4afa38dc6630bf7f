import assert from 'node:assert/strict';
import type { Clock } from '#stdlib/clock';
import {
  type Append,
  type JournalEntry,
  type JournalSlot,
  type JournalStore,
  journalStoreOf,
  NEWEST_SLOTS,
  type NewestSlot,
  type NewestSlots,
} from '#storage/ports/journal';

type Entry = JournalEntry & { readonly endDecidedAtMs: number | undefined };

/**
 * Journals in memory that keep every promise of the port: for simulated clusters and tests.
 * `clock` dates the ends. Records are copied on the way in and on the way out.
 */
export function memoryJournalStore(clock: Pick<Clock, 'wallMs'>): JournalStore {
  const entries = new Map<string, Entry>();
  const slots = new Map<string, SlotTable>();
  const seals = new Set<string>();
  const slotsOf = (incarnation: string): SlotTable => {
    const table = slots.get(incarnation) ?? new SlotTable();
    slots.set(incarnation, table);
    return table;
  };
  return journalStoreOf({
    async begin(incarnation, address) {
      if (entries.has(incarnation)) return false;
      entries.set(incarnation, { address, end: undefined, endDecidedAtMs: undefined });
      return true;
    },
    readEntry: async (incarnation) => entries.get(incarnation),
    async decideEnd(incarnation, end) {
      const entry = entries.get(incarnation);
      if (entry === undefined || entry.end !== undefined) return false;
      entries.set(incarnation, { ...entry, end, endDecidedAtMs: clock.wallMs() });
      return true;
    },
    deleteEntry: async (incarnation) => void entries.delete(incarnation),
    list: async () =>
      [...entries].map(([incarnation, { endDecidedAtMs }]) => {
        return { incarnation, sealedAtMs: endDecidedAtMs };
      }),
    append: async (append) => slotsOf(append.incarnation).write(append),
    readNewestSlot: async (incarnation) => slotsOf(incarnation).newest(),
    readNewestSlots: async (incarnation) => slotsOf(incarnation).newestSlots(),
    readSlots: async (incarnation, from, to) => slotsOf(incarnation).read(from, to),
    deleteSlots: async (incarnation) => slotsOf(incarnation).deleteBelow(Number.POSITIVE_INFINITY),
    hasSeal: async (incarnation) => seals.has(incarnation),
    putSeal: async (incarnation) => void seals.add(incarnation),
  });
}

/** The slots of one journal as a table keeps them: what was deleted once never comes back. */
class SlotTable {
  readonly #rows = new Map<number, { readonly records: Uint8Array; readonly low: number }>();
  #deletedBelow = 0;

  /** Writes a slot; a second time, or late, it changes nothing. */
  write({ slot, records, lowWaterMark, deleteBelow = 0 }: Append): void {
    assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
    assert(deleteBelow <= lowWaterMark, 'what is needed is never deleted');
    if (slot >= this.#deletedBelow && !this.#rows.has(slot)) {
      this.#rows.set(slot, { records: records.slice(), low: lowWaterMark });
    }
    this.deleteBelow(deleteBelow);
  }

  /** Deletes the slots below, those included that are written later. */
  deleteBelow(slot: number): void {
    this.#deletedBelow = Math.max(this.#deletedBelow, slot);
    for (const present of this.#rows.keys()) if (present < slot) this.#rows.delete(present);
  }

  /** The newest slot and the mark that it names. */
  newest(): NewestSlot | undefined {
    const slot = Math.max(...this.#rows.keys());
    const row = this.#rows.get(slot);
    return row && { slot, lowWaterMark: row.low };
  }

  /** The newest slots and the low-water mark that the newest names. */
  newestSlots(): NewestSlots | undefined {
    const newest = this.newest();
    if (newest === undefined) return undefined;
    const from = newest.slot - NEWEST_SLOTS + 1;
    return { ...newest, whole: this.read(from, newest.slot + 1).map(({ slot }) => slot) };
  }

  /** The slots `from` to before `to`, in order. */
  read(from: number, to: number): JournalSlot[] {
    return [...this.#rows]
      .filter(([slot]) => slot >= from && slot < to)
      .map(([slot, { records }]) => ({ slot, records: records.slice() }))
      .sort((a, b) => a.slot - b.slot);
  }
}
