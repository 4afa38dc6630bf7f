import type { Append } from '#storage/journal-store';
import type { Mutation, Resolve } from '#test/simulation/replica-partition';

/** A row of the table of slots. */
export type SlotRow = { readonly records: Uint8Array; readonly lowWaterMark: number };

/** A row of the table of seals. */
export type SealRow = true;

/** A slot's timestamp, the same in every try. */
const timestampOf = (slot: number): number => slot + 1;

/** Above the timestamps of all slots. */
const ABOVE_EVERY_SLOT = Number.MAX_SAFE_INTEGER;

/** The one seal that there is: every sealer puts the same. */
export const SEAL: Mutation<number, SealRow> = {
  cells: [{ key: 0, timestamp: 1, row: true }],
  deletions: [],
};

/** The mutation that empties a journal. */
export const NO_SLOTS: Mutation<number, SlotRow> = {
  cells: [],
  deletions: [{ timestamp: ABOVE_EVERY_SLOT }],
};

/** The one mutation that an append is: a slot, and with it the truncation below. */
export function slotMutation({
  slot,
  records,
  lowWaterMark,
  isTruncating,
}: Append): Mutation<number, SlotRow> {
  const timestamp = timestampOf(slot);
  return {
    cells: [{ key: slot, timestamp, row: { records: records.slice(), lowWaterMark } }],
    deletions: isTruncating ? [{ below: lowWaterMark, timestamp }] : [],
  };
}

/** Of two values of one cell and one timestamp the larger stands, column by column. */
export const resolveSlots: Resolve<SlotRow> = (one, other) => {
  const records = Buffer.compare(one.records, other.records) < 0 ? other.records : one.records;
  const lowWaterMark = Math.max(one.lowWaterMark, other.lowWaterMark);
  const isOne = records === one.records && lowWaterMark === one.lowWaterMark;
  return isOne ? one : { records, lowWaterMark };
};
