import { setTimeout as sleep } from 'node:timers/promises';
import type { QuotaDemand, QuotaLoad } from '#test/chaos/quota-load';

/** How often it is looked whether the next kill is due, in milliseconds. */
const LOOK_EVERY_MS = 20;

/**
 * Kills the owner of the account of a load, as often as the demand says and evenly over its quota.
 * Fulfils with how often that was: less when the quota was used up, or the load over, before.
 */
export async function killOwners(
  load: QuotaLoad,
  { quota, kills }: QuotaDemand,
  kill: () => Promise<void>,
): Promise<number> {
  for (let done = 0; done < kills; done += 1) {
    // The last one leaves something of the quota for the new owner.
    const dueAt = (quota * (done + 1)) / (kills + 2);
    while (load.acknowledged < dueAt && !isTooLate(load)) await sleep(LOOK_EVERY_MS);
    if (isTooLate(load)) return done;
    await kill();
  }
  return kills;
}

function isTooLate({ usedUpMs, isOver }: QuotaLoad): boolean {
  return usedUpMs !== undefined || isOver;
}
