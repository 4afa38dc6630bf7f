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
