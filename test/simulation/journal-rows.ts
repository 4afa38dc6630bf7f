import type { Append } from '#storage/ports/journal';
import type { Mutation, Resolve } from '#test/simulation/replica-partition';

/** A row of the table of slots; without its bytes where read repair brought only the mark. */
export type SlotRow = { readonly records: Uint8Array | undefined; readonly lowWaterMark: number };

/** The columns of a row that a head needs. */
export const markOf = ({ lowWaterMark }: SlotRow): SlotRow => ({
  records: undefined,
  lowWaterMark,
});

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
  deleteBelow,
}: Append): Mutation<number, SlotRow> {
  const timestamp = timestampOf(slot);
  return {
    cells: [{ key: slot, timestamp, row: { records: records.slice(), lowWaterMark } }],
    deletions: deleteBelow === undefined ? [] : [{ below: deleteBelow, timestamp }],
  };
}

/** Of two values of one cell and one timestamp the larger stands, column by column. */
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
