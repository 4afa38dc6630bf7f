import type { Account } from '#accounts/account';
import type { PlanSetting } from '#accounts/plan';

/** The account on another plan, with the scheduled change of `setting` or none. */
export function withPlan({ planChange: _, ...account }: Account, setting: PlanSetting): Account {
  const { plan, limits, later } = setting;
  const changed = { ...account, plan, limits };
  return later === undefined ? changed : { ...changed, planChange: { ...later, from: plan } };
}

/**
 * The account as it is at `nowMs`, with a scheduled change of plan applied when due. All decisions
 * and views by plan or limits must use this form.
 */
export function accountAt(account: Account, nowMs: number): Account {
  const { planChange: change, ...lasting } = account;
  if (change === undefined) return account;
  if (change.from !== account.plan) return lasting;
  if (nowMs < change.atMs) return account;
  return { ...lasting, plan: change.plan, limits: change.limits };
}
