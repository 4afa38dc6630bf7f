/** One of the tiers of spec 8.1. Enterprise is agreed, not bought (decision 28). */
export type Plan = 'free' | 'indie' | 'pro' | 'enterprise';

/** What a plan allows. */
export type Limits = {
  readonly requestsPerMinute: number;
  readonly cyclesPerMonth: number;
};

/** An account's plan with everything that follows from it; enterprise brings its own numbers. */
export type PlanChoice =
  | { readonly plan: Exclude<Plan, 'enterprise'> }
  | { readonly plan: 'enterprise'; readonly limits: Limits };

/** The largest numbers a custom plan may have: they must fit the wire and stay exact. */
export const CUSTOM_LIMITS_MAX: Limits = {
  requestsPerMinute: 1_000_000_000,
  cyclesPerMonth: 1_000_000_000_000,
};

/** The account that a local run creates: nobody's first hour should be a 429. Source: decision 32. */
export const LOCAL_PLAN: PlanChoice = {
  plan: 'enterprise',
  limits: { requestsPerMinute: 1_000_000, cyclesPerMonth: 1_000_000_000 },
};

const FREE: Limits = { requestsPerMinute: 10, cyclesPerMonth: 10_000 };
const INDIE: Limits = { requestsPerMinute: 60, cyclesPerMonth: 100_000 };
const PRO: Limits = { requestsPerMinute: 300, cyclesPerMonth: 500_000 };

/** Requests per minute and cycles per UTC month of a plan. Source: spec 8.1, decision 28. */
export function limitsOf(choice: PlanChoice): Limits {
  switch (choice.plan) {
    case 'free':
      return FREE;
    case 'indie':
      return INDIE;
    case 'pro':
      return PRO;
    case 'enterprise':
      return choice.limits;
  }
}
