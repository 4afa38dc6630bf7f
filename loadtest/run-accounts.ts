import { CUSTOM_LIMITS_MAX } from '#accounts/plan';
import { adminClient } from '#ctl/admin-client';
import { newAccount } from '#deploy/local/new-account';
import { AccountView } from '#limiter/admin/schema';
import { limiterPlans } from '#loadtest/fit';
import { type Demand, PROFILES } from '#loadtest/k6/profile';

/** Enterprise accounts for a run; disposal suspends the accounts. */
export type RunAccounts = AsyncDisposable & {
  readonly keys: readonly string[];
  /** Profile `limiter`: request limit of the first account, cycle limit of the second. */
  readonly limits: { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };
};

/**
 * Number of accounts in a mixed load: several, because all calls of one account share one meter and
 * one directory.
 */
const ACCOUNTS = 4;

/** Unreachable limits, so that the limiter refuses no call. */
const AMPLE = {
  requests_per_minute: CUSTOM_LIMITS_MAX.requestsPerMinute,
  cycles_per_month: CUSTOM_LIMITS_MAX.cyclesPerMonth,
};

/** Creates the accounts for a run through a limiter's admin port. */
export async function openRunAccounts(adminUrl: string, demand: Demand): Promise<RunAccounts> {
  await using opening = new AsyncDisposableStack();
  const limits = limiterPlans(demand);
  const keys: string[] = [];
  for (const [index, allowed] of plansOf(demand, limits).entries()) {
    const { accountId, apiKey } = await newAccount(adminUrl, `load-${index + 1}`, allowed);
    keys.push(apiKey);
    opening.defer(() => suspend(adminUrl, accountId));
  }
  const opened = opening.move();
  return { keys, limits, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function plansOf({ name }: Demand, limits: RunAccounts['limits']) {
  switch (PROFILES[name].load) {
    case 'mixed':
      return Array.from({ length: ACCOUNTS }, () => AMPLE);
    case 'hot':
      return [AMPLE];
    case 'limits':
      return [
        { ...AMPLE, requests_per_minute: limits.requestsPerMinute },
        { ...AMPLE, cycles_per_month: limits.cyclesPerMonth },
      ];
  }
}

async function suspend(adminUrl: string, accountId: string): Promise<void> {
  const path = `/accounts/${accountId}/status`;
  await adminClient(adminUrl).ask(AccountView, 'PUT', path, { status: 'suspended' });
}
