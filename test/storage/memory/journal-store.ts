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
 * In-memory JournalStore with all guarantees of the port, for simulations and tests. `clock` gives
 * the date of each seal. Records are copied on input and output.
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

/** Slots of one journal, in a table with permanent deletions. */
class SlotTable {
  readonly #rows = new Map<number, { readonly records: Uint8Array; readonly low: number }>();
  #deletedBelow = 0;

  /** Writes a slot. Repeated or late writes change nothing. */
  write({ slot, records, lowWaterMark, deleteBelow = 0 }: Append): void {
    assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
    assert(deleteBelow <= lowWaterMark, 'a slot at or above the low-water mark is never deleted');
    if (slot >= this.#deletedBelow && !this.#rows.has(slot)) {
      this.#rows.set(slot, { records: records.slice(), low: lowWaterMark });
    }
    this.deleteBelow(deleteBelow);
  }

  /** Deletes the slots below a slot, including slots that are written later. */
  deleteBelow(slot: number): void {
    this.#deletedBelow = Math.max(this.#deletedBelow, slot);
    for (const present of this.#rows.keys()) if (present < slot) this.#rows.delete(present);
  }

  /** Newest slot and its low-water mark. */
  newest(): NewestSlot | undefined {
    const slot = Math.max(...this.#rows.keys());
    const row = this.#rows.get(slot);
    return row && { slot, lowWaterMark: row.low };
  }

  /** Newest slots, and the low-water mark of the newest. */
  newestSlots(): NewestSlots | undefined {
    const newest = this.newest();
    if (newest === undefined) return undefined;
    const from = newest.slot - NEWEST_SLOTS + 1;
    return { ...newest, whole: this.read(from, newest.slot + 1).map(({ slot }) => slot) };
  }

  /** Slots in [`from`, `to`), in order. */
  read(from: number, to: number): JournalSlot[] {
    return [...this.#rows]
      .filter(([slot]) => slot >= from && slot < to)
      .map(([slot, { records }]) => ({ slot, records: records.slice() }))
      .sort((a, b) => a.slot - b.slot);
  }
}
