import { setTimeout as sleep } from 'node:timers/promises';
import type { QuotaDemand, QuotaLoad } from '#test/chaos/load/quota-load';

/** Interval between checks whether the next kill is due, in milliseconds. */
const POLL_EVERY_MS = 20;

/**
 * Kills the owner of the load's account several times, evenly distributed over the quota. Resolves
 * to the number of kills, which is less than `kills` if the quota or the load ends first.
 */
export async function killOwners(
  load: QuotaLoad,
  { quota, kills }: QuotaDemand,
  kill: () => Promise<void>,
): Promise<number> {
  for (let done = 0; done < kills; done += 1) {
    // After the last kill, some quota is left for the new owner.
    const dueAt = (quota * (done + 1)) / (kills + 2);
    while (load.acknowledged < dueAt && !isTooLate(load)) await sleep(POLL_EVERY_MS);
    if (isTooLate(load)) return done;
    await kill();
  }
  return kills;
}

function isTooLate({ usedUpMs, isOver }: QuotaLoad): boolean {
  return usedUpMs !== undefined || isOver;
}
