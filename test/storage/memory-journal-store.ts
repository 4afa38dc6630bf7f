import assert from 'node:assert/strict';
import type { Clock } from '#platform/clock';
import type { Conditional, JournalHead, JournalStore } from '#storage/journal-store';

type Stored = {
  head: JournalHead;
  readonly slots: Map<number, Uint8Array>;
  sealedAtMs: number | undefined;
};

const APPLIED: Conditional = { isApplied: true };

/**
 * Journals in memory that keep every promise of the port: for simulated clusters and tests.
 * `clock` dates the seals. Records are copied on the way in and on the way out.
 */
export function memoryJournalStore(clock: Pick<Clock, 'wallMs'>): JournalStore {
  const journals = new Map<string, Stored>();
  const refusal = (stored: Stored | undefined): Conditional => ({
    isApplied: false,
    head: stored?.head,
  });

  return {
    async begin(incarnation, address) {
      const stored = journals.get(incarnation);
      if (stored !== undefined) return refusal(stored);
      const head = { address, next: 0, lowWaterMark: 0, isSealed: false };
      journals.set(incarnation, { head, slots: new Map(), sealedAtMs: undefined });
      return APPLIED;
    },
    async append({ incarnation, slot, records, lowWaterMark }) {
      assert(
        lowWaterMark === undefined || lowWaterMark <= slot,
        'the newest slot of a journal is never deleted',
      );
      const stored = journals.get(incarnation);
      if (stored === undefined || stored.head.next !== slot || stored.head.isSealed) {
        return refusal(stored);
      }
      stored.slots.set(slot, records.slice());
      stored.head = {
        ...stored.head,
        next: slot + 1,
        lowWaterMark: lowWaterMark ?? stored.head.lowWaterMark,
      };
      if (lowWaterMark !== undefined) dropBelow(stored.slots, lowWaterMark);
      return APPLIED;
    },
    async seal(incarnation) {
      const stored = journals.get(incarnation);
      if (stored === undefined || stored.head.isSealed) return refusal(stored);
      stored.head = { ...stored.head, isSealed: true };
      stored.sealedAtMs = clock.wallMs();
      return APPLIED;
    },
    async readHead(incarnation) {
      return journals.get(incarnation)?.head;
    },
    async readSlots(incarnation, from, to) {
      const slots = [...(journals.get(incarnation)?.slots ?? [])];
      return slots
        .filter(([slot]) => slot >= from && slot < to)
        .map(([slot, records]) => ({ slot, records: records.slice() }));
    },
    async list() {
      return [...journals].map(([incarnation, { sealedAtMs }]) => ({ incarnation, sealedAtMs }));
    },
    async empty(incarnation) {
      if (journals.get(incarnation)?.head.isSealed === true) journals.delete(incarnation);
    },
  };
}

/** Slots stand in ascending order, as they were appended: those to drop are at the front. */
function dropBelow(slots: Map<number, Uint8Array>, lowWaterMark: number): void {
  for (const slot of slots.keys()) {
    if (slot >= lowWaterMark) return;
    slots.delete(slot);
  }
}
