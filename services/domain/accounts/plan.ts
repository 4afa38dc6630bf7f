import { monthNameOf } from '#accounts/quota-windows';

/** Plan tiers. Enterprise plans are agreed individually, never bought. Source: interface 8.1. */
export type Plan = 'free' | 'indie' | 'pro' | 'enterprise';

/** Limits of an account. */
export type Limits = {
  readonly requestsPerMinute: number;
  readonly cyclesPerMonth: number;
  /** Maximum number of existing instances. */
  readonly instances: number;
};

/** Scheduled change to another plan. Source: decision 300. */
export type PlanChange = {
  readonly plan: Plan;
  readonly limits: Limits;
  /** Time from which the plan applies, in Unix milliseconds. */
  readonly atMs: number;
  /**
   * Plan before the change. If the account has another plan, the change is ignored: a release 1.0
   * program has set the plan without removing the change.
   */
  readonly from: Plan;
};

/** A plan with its limits and an optional scheduled change. */
export type PlanSetting = {
  readonly plan: Plan;
  readonly limits: Limits;
  /** Scheduled change to another plan. Undefined: no change is scheduled. */
  readonly later?: Omit<PlanChange, 'from'> | undefined;
};

/** Limits agreed for an enterprise account. `instances` defaults to one million. */
type CustomLimits = Omit<Limits, 'instances'> & { readonly instances?: number };

/** A plan; for an enterprise plan also its limits. */
export type PlanChoice =
  | { readonly plan: Exclude<Plan, 'enterprise'> }
  | { readonly plan: 'enterprise'; readonly limits: CustomLimits };

/** Maximum custom limits. The values fit the wire format and remain exact numbers. */
export const CUSTOM_LIMITS_MAX: Limits = {
  requestsPerMinute: 1_000_000_000,
  cyclesPerMonth: 1_000_000_000_000,
  instances: 1_000_000,
};

const BOUGHT: Readonly<Record<Exclude<Plan, 'enterprise'>, Limits>> = {
  free: { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 },
  indie: { requestsPerMinute: 60, cyclesPerMonth: 100_000, instances: 10_000 },
  pro: { requestsPerMinute: 300, cyclesPerMonth: 500_000, instances: 100_000 },
};

/** Maximum number of instances by plan (decision 154). Enterprise may agree on fewer. */
export const INSTANCES_OF: Readonly<Record<Plan, number>> = {
  free: BOUGHT.free.instances,
  indie: BOUGHT.indie.instances,
  pro: BOUGHT.pro.instances,
  enterprise: CUSTOM_LIMITS_MAX.instances,
};

/** Plan for local runs, ample so that first steps never get 429. */
export const LOCAL_PLAN: PlanChoice = {
  plan: 'enterprise',
  limits: { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000_000 },
};

/** Returns the limits of a plan. Source: interface 8.1, decision 154. */
export function limitsOf(choice: PlanChoice): Limits {
  if (choice.plan !== 'enterprise') return BOUGHT[choice.plan];
  return { ...choice.limits, instances: choice.limits.instances ?? INSTANCES_OF.enterprise };
}

/** Retention of history and drift rows in days; `none`: rows are kept forever (decision 234). */
export type Retention = number | 'none';

/** Maximum retention in days: a century. Choose `none` for longer retention. */
export const RETENTION_DAYS_MAX = 36_500;

/** Retention by plan, in days. A plan without an entry keeps rows forever. */
export type RetentionOfPlans = Readonly<Partial<Record<Plan, number>>>;

/** Retention of an account's rows in days; undefined: rows are kept forever. */
export function retentionDaysOf(
  { plan, retention }: { readonly plan: Plan; readonly retention?: Retention },
  plans: RetentionOfPlans,
): number | undefined {
  if (retention === 'none') return undefined;
  return retention ?? plans[plan];
}

/**
 * Retention of audit trails in months, excluding the present month. A plan without an entry keeps
 * the trail forever. Source: decision 249.
 */
const AUDIT_MONTHS_OF: Readonly<Partial<Record<Plan, number>>> = {
  free: 3,
  indie: 13,
  pro: 25,
};

/**
 * First month of the audit trail that is kept at `nowMs`, such as `2026-11`; undefined: all months.
 */
export function auditKeptFrom(plan: Plan, nowMs: number): string | undefined {
  const months = AUDIT_MONTHS_OF[plan];
  if (months === undefined) return undefined;
  const now = new Date(nowMs);
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months);
  return monthNameOf(first);
}
