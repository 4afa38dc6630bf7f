import type { z } from 'zod';
import type { Account } from '#accounts/account';
import type { Limits } from '#accounts/plan';
import type { LineOf } from '#ctl/export-schema';
import type { LimitsWire } from '#limiter/admin-schema';

/** Plan and limits of an exported account, and the plan that follows them, if one does. */
export function importedPlan(
  line: LineOf<'account'>,
): Pick<Account, 'plan' | 'limits' | 'planChange'> {
  const { plan, plan_change: change } = line;
  const present = { plan, limits: limitsOf(line) };
  if (change === undefined) return present;
  const { at_ms: atMs, from } = change;
  return { ...present, planChange: { plan: change.plan, limits: limitsOf(change), atMs, from } };
}

function limitsOf(line: z.infer<typeof LimitsWire>): Limits {
  return {
    requestsPerMinute: line.requests_per_minute,
    cyclesPerMonth: line.cycles_per_month,
    instances: line.instances,
  };
}
