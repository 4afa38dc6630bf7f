import { bytesOfHeadText, bytesOfModel, bytesOfRows } from '#engine/held-bytes';
import type { Recovery } from '#engine/instance-recovery';
import type { UnstoredRows } from '#engine/unstored-rows';
import type { Instant } from '#platform/instant';
import type { InstanceHead } from '#storage/instance-store';

/** Bytes of an idle instance in memory without its text and its model: `test/engine/held-bytes`. */
const INSTANCE_BYTES = 780;

/**
 * One instance in memory; every event makes the next one. What is stored of it is one immutable
 * value, the head, so an idle instance and a store in the same process share it.
 */
export type InstanceState = {
  /**
   * Undefined: nothing was ever committed. With `deletedAtMs` it is the marker of a deleted one. Its
   * newest rows are those that it was last stored with; `unstored` has those that came after them.
   */
  head: InstanceHead | undefined;
  /** Bytes of name and description in memory. */
  readonly textBytes: number;
  /** Whether the store may hold the head's model, so that it must be copied. Set by a checkpoint. */
  isModelShared: boolean;
  /** Made on first use, because an idle instance has none; a checkpoint takes it away. */
  unstored: UnstoredRows | undefined;
  /** What replay started from and applied; a checkpoint takes it away. */
  recovery: Recovery | undefined;
  /** When it was last observed by both clocks of this process. Kept by `observedEvent`. */
  clockAnchor: Instant | undefined;
};

/** The instance that a head describes, or one of which nothing is known. */
export function instanceFrom(head: InstanceHead | undefined): InstanceState {
  return {
    head,
    textBytes: bytesOfHeadText(head),
    isModelShared: true,
    unstored: undefined,
    recovery: undefined,
    clockAnchor: undefined,
  };
}

/** The head of an instance that exists. Throws when it does not: the caller has made sure of it. */
export function headOf({ head }: Pick<InstanceState, 'head'>): InstanceHead {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance was created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** Roughly the bytes an instance holds. */
export function bytesOf(state: InstanceState): number {
  return INSTANCE_BYTES + bytesOfModel(state.head) + bytesOfRows(state.head) + bytesUnstored(state);
}

/** Those of them that were not there before it changed, and its text: it stays until it is stored. */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  return textBytes + (unstored?.bytes ?? 0) + (recovery?.bytes ?? 0);
}
