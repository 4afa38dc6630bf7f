import { reportOf } from '#engine/instance-answers';
import type { InstanceState } from '#engine/instance-state';
import type { Models } from '#identity/model';
import type { ActiveInstance } from '#wire/admin';

/** Cycles that an operator sees: enough to know what is going on. */
const UNSTORED_SHOWN = 10;

/** What an operator sees of an instance in memory; undefined if none was ever created. */
export function activeInstanceOf(
  instanceId: string,
  { head, unstored }: InstanceState,
  models: Models,
): ActiveInstance | undefined {
  if (head === undefined) return undefined;
  const { version, generation, deletedAtMs } = head;
  const unstoredCycles = (unstored?.history ?? [])
    .slice(-UNSTORED_SHOWN)
    .reverse()
    .map(({ contextJson: _, ordinal: __, ...cycle }) => cycle);
  const isLive = deletedAtMs === undefined;
  const cycle = isLive ? reportOf(instanceId, head, models).snapshot.cycle : 0;
  return { version, generation, cycle, unstoredCycles };
}
