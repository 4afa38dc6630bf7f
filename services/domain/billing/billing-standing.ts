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

/** Plan and subscription of an account. Times are Unix milliseconds. */
export type BillingStanding = {
  /** Name of the payment provider; absent: none is configured. */
  readonly provider?: string;
  readonly plan: Plan;
  /** Scheduled change of plan; absent: none is scheduled. */
  readonly later?: { readonly plan: Plan; readonly atMs: number };
  /** The living subscription, or else the newest; absent: the account has bought nothing. */
  readonly subscription?: {
    readonly plan: BoughtPlan;
    readonly status: 'active' | 'overdue' | 'inactive' | 'ended';
    /** End of the paid period, at which the subscription renews. */
    readonly periodEndsAtMs: number;
    /** Scheduled end of the subscription; absent: it renews. */
    readonly endsAtMs?: number;
    /**
     * Time of the first failed payment, and end of the grace period; absent: no payment has failed.
     */
    readonly failed?: { readonly sinceMs: number; readonly keptUntilMs: number };
  };
  /** Whether `checkout` can sell a plan. */
  readonly maySubscribe: boolean;
  /** Whether `portal` has a page for the account. */
  readonly mayManage: boolean;
};

/** The standing of an account, from its plan and its billing record. */
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

/** View of a living subscription, or else of the subscription that was described last. */
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

/** A trial goes on as a paid subscription does; a subscription that nobody pays does not. */
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
