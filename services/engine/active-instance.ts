import type { InstanceState } from '#engine/instance-state';
import { at } from '#identity/at';
import { OFFSET } from '#identity/state';
import type { ActiveInstance } from '#wire/admin';

/** Cycles that an operator sees: enough to know what is going on. */
const UNSTORED_SHOWN = 10;

/** What an operator sees of an instance in memory; undefined if none was ever created. */
export function activeInstanceOf({ head, unstored }: InstanceState): ActiveInstance | undefined {
  if (head === undefined) return undefined;
  const { version, generation, model, deletedAtMs } = head;
  const unstoredCycles = (unstored?.history ?? [])
    .slice(-UNSTORED_SHOWN)
    .reverse()
    .map(({ contextJson: _, ordinal: __, ...cycle }) => cycle);
  const cycle = deletedAtMs === undefined ? at(model, OFFSET.cycle) : 0;
  return { version, generation, cycle, unstoredCycles };
}
