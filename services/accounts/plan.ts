import { monthNameOf } from '#accounts/windows';

/** One of the tiers of interface 8.1. Enterprise is agreed, not bought. */
export type Plan = 'free' | 'indie' | 'pro' | 'enterprise';

/** What a plan allows. */
export type Limits = {
  readonly requestsPerMinute: number;
  readonly cyclesPerMonth: number;
  /** Instances at the same time. */
  readonly instances: number;
};

/** A plan that an account goes over to at a time. Source: decision 300. */
export type PlanChange = {
  readonly plan: Plan;
  readonly limits: Limits;
  /** Unix milliseconds from which it counts. */
  readonly atMs: number;
  /** The plan that it ends. Of another one, given since by a program of 1.0, it ends nothing. */
  readonly from: Plan;
};

/** A plan with its limits, and what follows it. */
export type PlanSetting = {
  readonly plan: Plan;
  readonly limits: Limits;
  /** Undefined: nothing is to change. */
  readonly later?: Omit<PlanChange, 'from'> | undefined;
};

/** What is agreed for an enterprise account; instances are a million unless said. */
type CustomLimits = Omit<Limits, 'instances'> & { readonly instances?: number };

/** An account's plan with everything that follows from it; enterprise brings its own numbers. */
export type PlanChoice =
  | { readonly plan: Exclude<Plan, 'enterprise'> }
  | { readonly plan: 'enterprise'; readonly limits: CustomLimits };

/** The largest numbers a custom plan may have: they must fit the wire and stay exact. */
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

/** Instances of an account by its plan (decision 154); enterprise may agree on fewer. */
export const INSTANCES_OF: Readonly<Record<Plan, number>> = {
  free: BOUGHT.free.instances,
  indie: BOUGHT.indie.instances,
  pro: BOUGHT.pro.instances,
  enterprise: CUSTOM_LIMITS_MAX.instances,
};

/** The account that a local run creates: the first hour should not be a 429. */
export const LOCAL_PLAN: PlanChoice = {
  plan: 'enterprise',
  limits: { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000_000 },
};

/** What a plan allows. Source: interface 8.1, decision 154. */
export function limitsOf(choice: PlanChoice): Limits {
  if (choice.plan !== 'enterprise') return BOUGHT[choice.plan];
  return { ...choice.limits, instances: choice.limits.instances ?? INSTANCES_OF.enterprise };
}

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
