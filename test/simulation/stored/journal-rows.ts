import type { Append } from '#storage/ports/journal';
import type { Mutation, Resolve } from '#test/simulation/faults/replica-partition';

/** A row of the slot table. `records` is undefined if read repair copied only the other column. */
export type SlotRow = { readonly records: Uint8Array | undefined; readonly lowWaterMark: number };

/** Projects a row to the columns for reading the newest slot. */
export const markOf = ({ lowWaterMark }: SlotRow): SlotRow => ({
  records: undefined,
  lowWaterMark,
});

/** A row of the seal table. */
export type SealRow = true;

/** Write timestamp of a slot, equal for all attempts. */
const timestampOf = (slot: number): number => slot + 1;

/** Timestamp above all slot timestamps. */
const ABOVE_EVERY_SLOT = Number.MAX_SAFE_INTEGER;

/** Mutation that seals a journal, equal for all sealers. */
export const SEAL: Mutation<number, SealRow> = {
  cells: [{ key: 0, timestamp: 1, row: true }],
  deletions: [],
};

/** Mutation that empties a journal. */
export const NO_SLOTS: Mutation<number, SlotRow> = {
  cells: [],
  deletions: [{ timestamp: ABOVE_EVERY_SLOT }],
};

/** Mutation of an append: one slot, and the deletion of truncated slots. */
export function slotMutation({
  slot,
  records,
  lowWaterMark,
  deleteBelow,
}: Append): Mutation<number, SlotRow> {
  const timestamp = timestampOf(slot);
  return {
    cells: [{ key: slot, timestamp, row: { records: records.slice(), lowWaterMark } }],
    deletions: deleteBelow === undefined ? [] : [{ below: deleteBelow, timestamp }],
  };
}

/** Tie-break for equal timestamps: in each column the larger value wins. */
export const resolveSlots: Resolve<SlotRow> = (one, other) => {
  const records = largerOf(one.records, other.records);
  const lowWaterMark = Math.max(one.lowWaterMark, other.lowWaterMark);
  const isOne = records === one.records && lowWaterMark === one.lowWaterMark;
  return isOne ? one : { records, lowWaterMark };
};

function largerOf(one: Uint8Array | undefined, other: Uint8Array | undefined) {
  if (one === undefined || other === undefined) return one ?? other;
  return Buffer.compare(one, other) < 0 ? other : one;
}
