/** One of the tiers of interface 8.1. Enterprise is agreed, not bought (decision 28). */
export type Plan = 'free' | 'indie' | 'pro' | 'enterprise';

/** What a plan allows. */
export type Limits = {
  readonly requestsPerMinute: number;
  readonly cyclesPerMonth: number;
  /** Instances at the same time. */
  readonly instances: number;
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

/** Instances of an account by its plan (decision 154); enterprise may agree on fewer. */
export const INSTANCES_OF: Readonly<Record<Plan, number>> = {
  free: 1_000,
  indie: 10_000,
  pro: 100_000,
  enterprise: CUSTOM_LIMITS_MAX.instances,
};

/** The account that a local run creates: the first hour should not be a 429. Source: decision 32. */
export const LOCAL_PLAN: PlanChoice = {
  plan: 'enterprise',
  limits: { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000_000 },
};

const FREE: Limits = {
  requestsPerMinute: 10,
  cyclesPerMonth: 10_000,
  instances: INSTANCES_OF.free,
};
const INDIE: Limits = {
  requestsPerMinute: 60,
  cyclesPerMonth: 100_000,
  instances: INSTANCES_OF.indie,
};
const PRO: Limits = {
  requestsPerMinute: 300,
  cyclesPerMonth: 500_000,
  instances: INSTANCES_OF.pro,
};

/** Requests per minute, cycles per UTC month and instances of a plan. Source: interface 8.1, decisions 28, 154. */
export function limitsOf(choice: PlanChoice): Limits {
  switch (choice.plan) {
    case 'free':
      return FREE;
    case 'indie':
      return INDIE;
    case 'pro':
      return PRO;
    case 'enterprise':
      return { ...choice.limits, instances: choice.limits.instances ?? INSTANCES_OF.enterprise };
  }
}
