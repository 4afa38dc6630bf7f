import { headOf, type InstanceState } from '#engine/instance-state';
import type { RecentCall } from '#storage/instance-store';

/*
 * Mark of the newest batch with item keys. It is the first entry of `recentCalls` of a head, so that a
 * new owner of the instance has it too, and a release without item keys passes over it: no call has
 * its id.
 */

/** Id of the entry of `recentCalls` that is the mark. */
const ITEM_KEYS_MARK = 2 ** 52 - 1;

/** How long the mark stays: longer than a key counts as fresh, with room for clocks that differ. */
const ITEM_KEYS_MARK_AGE_MS = 60_000;

const NONE: readonly RecentCall[] = [];

/** `recentCalls` of a head after a batch with item keys. */
export function marked(version: number, atMs: number): readonly RecentCall[] {
  return [{ callId: ITEM_KEYS_MARK, version, atMs }];
}

/** `recentCalls` of a head after observations without item keys: the mark, while it is young. */
export function keptMark(recentCalls: readonly RecentCall[], atMs: number): readonly RecentCall[] {
  if (recentCalls.length === 0 || !isMarked(recentCalls, atMs)) return NONE;
  return recentCalls.length === 1 ? recentCalls : recentCalls.slice(0, 1);
}

/** `recentCalls` of a head that is stored: its mark, if it has one, and then the calls. */
export function recentWithMark(
  present: readonly RecentCall[],
  calls: readonly RecentCall[],
): readonly RecentCall[] {
  const [first] = present;
  if (calls.length === 0 && present.length < 2) return present;
  if (first?.callId !== ITEM_KEYS_MARK) return calls.length === 0 ? present : calls;
  return [first, ...calls.filter(({ callId }) => callId !== ITEM_KEYS_MARK)];
}

/**
 * Whether items with keys may have been applied in the last minute: then a young key of a single call
 * may be one of theirs, and is looked up.
 */
export function hasRecentItemKeys(state: InstanceState, nowMs: number): boolean {
  return isMarked(headOf(state).recentCalls, nowMs);
}

function isMarked([first]: readonly RecentCall[], nowMs: number): boolean {
  return first?.callId === ITEM_KEYS_MARK && first.atMs > nowMs - ITEM_KEYS_MARK_AGE_MS;
}
