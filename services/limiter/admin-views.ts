import type { z } from 'zod';
import type { Account } from '#accounts/account';
import type { Limits, PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import type { AccountView, LimitsWire, PlanBody, UsageView } from '#limiter/admin-schema';
import { isoOf } from '#limiter/key-views';
import type { MeterUsage } from '#wire/admin';

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
            at: isoOf(change.atMs),
          },
        }),
    ...(modelVersion === undefined ? {} : { model_version: modelVersion }),
    ...(retention === undefined ? {} : { retention_days: retention }),
    created_at: isoOf(createdAtMs),
  };
}

/** Usage for the admin port. */
export function viewOfUsage(accountId: string, usage: MeterUsage): z.infer<typeof UsageView> {
  const { limits, cyclesUsed, cyclesReserved, windowResetAtS } = usage;
  return {
    account_id: accountId,
    requests_per_minute: limits.requestsPerMinute,
    requests_in_window: usage.requestsInWindow,
    window_mark: usage.windowWatermark,
    ...(windowResetAtS === undefined ? {} : { window_resets_at: isoOf(windowResetAtS * 1_000) }),
    cycles_per_month: limits.cyclesPerMonth,
    cycles_used: cyclesUsed,
    cycles_reserved: cyclesReserved,
    cycles_remaining: Math.max(0, limits.cyclesPerMonth - cyclesUsed - cyclesReserved),
    month_mark: usage.monthWatermark,
    cycles_expired: usage.cyclesExpired,
    cycles_lost: usage.cyclesLost,
    month_ends_at: isoOf(usage.monthResetAtS * 1_000),
    days: daysOf(usage),
  };
}

function daysOf({ cyclesByDay, monthResetAtS }: MeterUsage): { date: string; cycles: number }[] {
  const end = new Date(monthResetAtS * 1_000);
  const dateOf = (index: number) =>
    isoOf(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1 + index)).slice(0, 10);
  return cyclesByDay.map((cycles, index) => ({ date: dateOf(index), cycles }));
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
