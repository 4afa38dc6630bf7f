import type { InstanceHead } from '#storage/instance-store';

/** Bytes of a model in memory. `test/engine/held-bytes` holds these estimates against the heap. */
const MODEL_BYTES = 1_100;

/** Characters that take two bytes in memory, and make all others of their text do so. */
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
