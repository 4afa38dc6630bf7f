import { type InstanceHead, type NewestRows, NO_ROWS } from '#storage/ports/instances';

/** Bytes of a model in memory. `test/engine/held-bytes` checks these estimates against the heap. */
const MODEL_BYTES = 1_100;

/** Bytes of a head's rows in memory, without their text. */
const ROWS_BYTES = 60;

/** Bytes of a floor in memory, without its state. */
const FLOOR_BYTES = 110;

/**
 * Characters that take two bytes in memory. One such character doubles the size of its whole text.
 */
const WIDE = /[\u0100-\uffff]/;

/** Bytes of a text in memory. */
export function bytesOfText(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** Bytes of a head's text in memory. */
export function bytesOfHeadText(head: InstanceHead | undefined): number {
  return bytesOfText(head?.name ?? '') + bytesOfText(head?.description ?? '');
}

/** Bytes of a head's model in memory; a deleted instance has none. */
export function bytesOfModel(head: InstanceHead | undefined): number {
  return head === undefined || head.model.length === 0 ? 0 : MODEL_BYTES;
}

/** Bytes of a head's newest rows and of its floor in memory. */
export function bytesOfRows(head: InstanceHead | undefined): number {
  if (head === undefined) return 0;
  const bytesOf = (newest: NewestRows) =>
    newest === NO_ROWS ? 0 : ROWS_BYTES + newest.rows.length;
  const { floor } = head;
  const floorBytes = floor === undefined ? 0 : FLOOR_BYTES + (floor.state?.length ?? 0);
  return floorBytes + bytesOf(head.newestHistory) + bytesOf(head.newestDrift);
}
