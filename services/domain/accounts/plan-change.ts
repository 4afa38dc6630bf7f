import type { Account } from '#accounts/account';
import type { PlanSetting } from '#accounts/plan';

/** Sets an account's plan, and replaces or removes a scheduled change (`setting.later`). */
export function withPlan({ planChange: _, ...account }: Account, setting: PlanSetting): Account {
  const { plan, limits, later } = setting;
  const changed = { ...account, plan, limits };
  return later === undefined ? changed : { ...changed, planChange: { ...later, from: plan } };
}

/**
 * The account at `nowMs`: applies a scheduled plan change when due. Decisions and views that depend
 * on plan or limits must use the result. Source: decision 300.
 */
export function accountAt(account: Account, nowMs: number): Account {
  const { planChange: change, ...lasting } = account;
  if (change === undefined) return account;
  if (change.from !== account.plan) return lasting;
  if (nowMs < change.atMs) return account;
  return { ...lasting, plan: change.plan, limits: change.limits };
}
