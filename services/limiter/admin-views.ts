import type { z } from 'zod';
import type { Account } from '#accounts/account';
import type { Limits, PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import type { AccountView, LimitsWire, PlanBody } from '#limiter/admin-schema';
import { isoTime } from '#platform/iso-time';

/** An account for the admin port, as it is at `nowMs`. */
export function viewOfAccount(account: Account, nowMs: number): z.infer<typeof AccountView> {
  const present = accountAt(account, nowMs);
  const { id, name, plan, status, limits, planChange: change } = present;
  const { modelVersion, retention, createdAtMs } = present;
  return {
    id,
    name,
    plan,
    status,
    limits: viewOfLimits(limits),
    ...(change === undefined
      ? {}
      : {
          plan_change: {
            plan: change.plan,
            limits: viewOfLimits(change.limits),
            at: isoTime(change.atMs),
          },
        }),
    ...(modelVersion === undefined ? {} : { model_version: modelVersion }),
    ...(retention === undefined ? {} : { retention_days: retention }),
    created_at: isoTime(createdAtMs),
  };
}

/** The plan that a body asks for. */
export function choiceOf(body: z.infer<typeof PlanBody>): PlanChoice {
  if (body.plan !== 'enterprise') return { plan: body.plan };
  const { requests_per_minute, cycles_per_month, instances } = body.limits;
  const limits = { requestsPerMinute: requests_per_minute, cyclesPerMonth: cycles_per_month };
  return {
    plan: 'enterprise',
    limits: instances === undefined ? limits : { ...limits, instances },
  };
}

function viewOfLimits(limits: Limits): z.infer<typeof LimitsWire> {
  return {
    requests_per_minute: limits.requestsPerMinute,
    cycles_per_month: limits.cyclesPerMonth,
    instances: limits.instances,
  };
}
