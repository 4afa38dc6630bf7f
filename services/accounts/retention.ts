import { monthNameOf } from '#accounts/month';
import type { Plan } from '#accounts/plan';

/** Days that rows of history and drift are kept; `none`: for ever (decision 234). */
export type Retention = number | 'none';

/** The most days that can be named: a century. Who means longer means for ever. */
export const RETENTION_DAYS_MAX = 36_500;

/** The days that plans keep rows; a plan that is not named keeps them for ever. */
export type RetentionOfPlans = Readonly<Partial<Record<Plan, number>>>;

/** The days that an account keeps rows; undefined: for ever. */
export function retentionDaysOf(
  { plan, retention }: { readonly plan: Plan; readonly retention?: Retention },
  plans: RetentionOfPlans,
): number | undefined {
  if (retention === 'none') return undefined;
  return retention ?? plans[plan];
}

/**
 * Months that plans keep the audit trail, the present one not counted; a plan that is not named keeps
 * it for ever. Source: decision 249.
 */
const AUDIT_MONTHS_OF: Readonly<Partial<Record<Plan, number>>> = {
  free: 3,
  indie: 13,
  pro: 25,
};

/** The first month that an audit trail keeps at `nowMs`, `2026-11`; undefined: all of them. */
export function auditKeptFrom(plan: Plan, nowMs: number): string | undefined {
  const months = AUDIT_MONTHS_OF[plan];
  if (months === undefined) return undefined;
  const now = new Date(nowMs);
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months);
  return monthNameOf(first);
}
