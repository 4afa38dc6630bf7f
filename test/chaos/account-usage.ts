import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { adminClient } from '#ctl/admin-client';
import { UsageView } from '#limiter/admin/schema';

/** A reservation is settled or expired after a minute (architecture 4); the rest is a busy machine. */
const SETTLED_MS_MAX = 75_000;
const ASK_EVERY_MS = 500;

/** What an account has used, as `ctl usage` shows it. */
export type Usage = z.infer<typeof UsageView>;

/**
 * Asks the limiters at this admin port what each account has used. Rejects when they do not say.
 * `tokenFile`: where its token is, if this user's limiters do not publish it.
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
 * The same when nothing is reserved any more, because a reservation says neither that its cycles were
 * used nor that they were not. Waits no longer than reservations may live: then they are in the answer.
 * A limiter that does not say is asked again as long.
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
