import type { Account } from '#accounts/account';
import type { Plan } from '#accounts/plan';
import { isLiving, keptUntilMs } from '#billing/entitlement';
import { stateOf } from '#billing/subscription';
import type {
  BilledSubscription,
  BillingRecord,
  BoughtPlan,
  SubscriptionTerms,
} from '#storage/ports/billing';

/** An account's plan and subscription. Times are Unix milliseconds. */
export type BillingStanding = {
  /** Payment provider name; absent: no provider is configured. */
  readonly provider?: string;
  readonly plan: Plan;
  /** Scheduled plan change; absent: no change is scheduled. */
  readonly later?: { readonly plan: Plan; readonly atMs: number };
  /**
   * The current subscription, or the newest subscription if none is current. Absent: the account
   * has never had a subscription.
   */
  readonly subscription?: {
    readonly plan: BoughtPlan;
    readonly status: 'active' | 'overdue' | 'inactive' | 'ended';
    /** End of the paid period, when the subscription renews. */
    readonly periodEndsAtMs: number;
    /** Scheduled end of the subscription; absent: the subscription renews. */
    readonly endsAtMs?: number;
    /** Time of the first failed payment, and end of the grace period; absent: no failed payment. */
    readonly failed?: { readonly sinceMs: number; readonly keptUntilMs: number };
  };
  /** Whether `checkout` accepts a purchase. */
  readonly maySubscribe: boolean;
  /** Whether `portal` can open a page for the account. */
  readonly mayManage: boolean;
};

/** Computes an account's billing view from its plan and billing record. */
export function standingOf(
  { plan, planChange }: Account,
  record: BillingRecord,
  { provider, graceMs }: { readonly provider: string | undefined; readonly graceMs: number },
): BillingStanding {
  const { customers, subscriptions } = record;
  const isSold = provider !== undefined && plan !== 'enterprise';
  const subscription = viewOf(record, graceMs);
  return {
    ...(provider !== undefined && { provider }),
    plan,
    ...(planChange !== undefined && { later: { plan: planChange.plan, atMs: planChange.atMs } }),
    ...(subscription !== undefined && { subscription }),
    maySubscribe: isSold && !subscriptions.some(isLiving),
    mayManage: provider !== undefined && customers.length > 0,
  };
}

/**
 * View of the current subscription. If none is current, view of the subscription with the newest
 * terms.
 */
function viewOf(record: BillingRecord, graceMs: number): BillingStanding['subscription'] {
  const newestFirst = record.subscriptions
    .map((subscription) => ({ subscription, state: stateOf(subscription, record.returns) }))
    .sort((a, b) => b.state.atMs - a.state.atMs);
  const described = newestFirst.filter(({ state }) => state.terms !== undefined);
  const counting = described.find(({ subscription }) => isLiving(subscription)) ?? described[0];
  if (counting?.state.terms === undefined) return undefined;
  const { plan, periodEndsAtMs, endsAtMs } = counting.state.terms;
  const status = shownStatus(counting.state.terms);
  const failures = [...counting.state.failures.values()];
  const sinceMs = status === 'ended' || failures.length === 0 ? undefined : Math.min(...failures);
  return {
    ...{ plan, status, periodEndsAtMs },
    ...(endsAtMs !== undefined && { endsAtMs }),
    ...(sinceMs !== undefined && {
      failed: { sinceMs, keptUntilMs: keptMs(record, counting.subscription, sinceMs, graceMs) },
    }),
  };
}

/** A trial is shown as `active`. A paused subscription is not billed and is shown as `inactive`. */
function shownStatus({ status, isPaused }: SubscriptionTerms) {
  if (status === 'trial' || status === 'active') return isPaused ? 'inactive' : 'active';
  return status;
}

function keptMs(
  record: BillingRecord,
  subscription: BilledSubscription,
  sinceMs: number,
  graceMs: number,
): number {
  return Math.max(sinceMs, keptUntilMs(record, subscription, graceMs));
}
