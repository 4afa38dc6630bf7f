import type { Account } from '#accounts/account';
import type { PlanSetting } from '#accounts/plan';

/** An account that is on another plan, and goes over to a later one or to none. */
export function withPlan({ planChange: _, ...account }: Account, setting: PlanSetting): Account {
  const { plan, limits, later } = setting;
  const changed = { ...account, plan, limits };
  return later === undefined ? changed : { ...changed, planChange: { ...later, from: plan } };
}

/**
 * The account as it is at `nowMs`: on the later plan when its time has come, with a change only
 * while one is to come. What decides or shows by plan or limits goes by this.
 */
export function accountAt(account: Account, nowMs: number): Account {
  const { planChange: change, ...lasting } = account;
  if (change === undefined) return account;
  if (change.from !== account.plan) return lasting;
  if (nowMs < change.atMs) return account;
  return { ...lasting, plan: change.plan, limits: change.limits };
}
