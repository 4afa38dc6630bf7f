import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { adminClient } from '#ctl/admin-client';
import { UsageView } from '#limiter/admin/schema';

/**
 * Maximum wait in ms until reservations are settled or expired: a minute (architecture 4), and some
 * time for a busy machine.
 */
const SETTLED_MS_MAX = 75_000;
const POLL_EVERY_MS = 500;

/** Usage of an account, as `ctl usage` prints. */
export type Usage = z.infer<typeof UsageView>;

/**
 * Reads the usage of each account from the admin API. Rejects if no limiter answers. `tokenFile` is
 * the path of the admin token. Callers need it only if the token is not published for this user.
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
 * Waits until no account has an open reservation, and returns the usage of each account. An open
 * reservation does not show whether its cycles were used. Retries failed reads. After the maximum
 * wait, the returned usages can contain open reservations.
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
    await sleep(POLL_EVERY_MS);
  }
}
