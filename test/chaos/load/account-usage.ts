import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { adminClient } from '#ctl/admin-client';
import { UsageView } from '#limiter/admin/schema';

/**
 * Maximum wait for reservations in ms: they settle or expire within a minute (architecture 4), plus
 * time for a busy machine.
 */
const SETTLED_MS_MAX = 75_000;
const ASK_EVERY_MS = 500;

/** Usage of an account, as in the output of `ctl usage`. */
export type Usage = z.infer<typeof UsageView>;

/**
 * Reads the usage of each account from the limiters at this admin port. Rejects if they do not
 * answer. `tokenFile`: path of the admin token, if the limiters do not publish it for this user.
 */
export function usagesOf(
  adminUrl: string,
  accounts: readonly string[],
  tokenFile?: string,
): Promise<Usage[]> {
  const admin = adminClient(adminUrl, tokenFile);
  return Promise.all(accounts.map((id) => admin.ask(UsageView, 'GET', `/accounts/${id}/usage`)));
}

/**
 * Reads the usage once no reservation is open, because a reservation does not show whether its
 * cycles were used. Waits at most for the lifetime of reservations; then the answer includes open
 * ones. Retries an unavailable limiter meanwhile.
 */
export async function finalUsagesOf(
  adminUrl: string,
  accounts: readonly string[],
  tokenFile?: string,
): Promise<Usage[]> {
  const deadlineMs = performance.now() + SETTLED_MS_MAX;
  for (;;) {
    const isLast = performance.now() > deadlineMs;
    try {
      const usages = await usagesOf(adminUrl, accounts, tokenFile);
      const isSettled = usages.every(({ cycles_reserved }) => cycles_reserved === 0);
      if (isSettled || isLast) return usages;
    } catch (error) {
      if (isLast) throw error;
    }
    await sleep(ASK_EVERY_MS);
  }
}
