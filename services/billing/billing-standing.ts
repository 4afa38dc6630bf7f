import type { Account } from '#accounts/account';
import type { Plan } from '#accounts/plan';
import { isLiving } from '#billing/entitlement';
import type { BilledSubscription, BillingRecord, BoughtPlan } from '#storage/billing-store';

/** What an account has of the plans that are sold. Times are Unix milliseconds. */
export type BillingStanding = {
  /** Of the payment provider; absent: none is configured. */
  readonly provider?: string;
  readonly plan: Plan;
  /** The plan that follows; absent: none does. */
  readonly later?: { readonly plan: Plan; readonly atMs: number };
  /** The one that counts, or the last one; absent: nothing was ever bought. */
  readonly subscription?: {
    readonly plan: BoughtPlan;
    readonly status: 'active' | 'overdue' | 'inactive' | 'ended';
    /** To when it is paid, and when it goes on from. */
    readonly periodEndsAtMs: number;
    /** When it ends by itself; absent: it goes on. */
    readonly endsAtMs?: number;
    /** Since when payments fail, and until when the plan is kept all the same; absent: they do not. */
    readonly failed?: { readonly sinceMs: number; readonly keptUntilMs: number };
  };
  /** Whether `checkout` would sell a plan. */
  readonly maySubscribe: boolean;
  /** Whether `portal` has a page. */
  readonly mayManage: boolean;
};

/** The standing of an account, as it is and with all that the provider said of it. */
export function standingOf(
  { plan, planChange }: Account,
  { customers, subscriptions }: BillingRecord,
  { provider, graceMs }: { readonly provider: string | undefined; readonly graceMs: number },
): BillingStanding {
  const isSold = provider !== undefined && plan !== 'enterprise';
  const subscription = countingOf(subscriptions);
  return {
    ...(provider !== undefined && { provider }),
    plan,
    ...(planChange !== undefined && { later: { plan: planChange.plan, atMs: planChange.atMs } }),
    ...(subscription !== undefined && { subscription: viewOf(subscription, graceMs) }),
    maySubscribe: isSold && !subscriptions.some(isLiving),
    mayManage: provider !== undefined && customers.length > 0,
  };
}

type Described = BilledSubscription & Required<Pick<BilledSubscription, 'snapshot'>>;

/** A living one, or else the one that was heard of last. */
function countingOf(subscriptions: readonly BilledSubscription[]): Described | undefined {
  const described = subscriptions.filter((one): one is Described => one.snapshot !== undefined);
  const newestFirst = described.sort((a, b) => b.snapshot.atMs - a.snapshot.atMs);
  return newestFirst.find(isLiving) ?? newestFirst[0];
}

function viewOf(
  { snapshot, failedAtMs: [sinceMs] }: Described,
  graceMs: number,
): NonNullable<BillingStanding['subscription']> {
  const { plan, status, periodEndsAtMs, endsAtMs } = snapshot;
  return {
    ...{ plan, status, periodEndsAtMs },
    ...(endsAtMs !== undefined && { endsAtMs }),
    ...(sinceMs !== undefined &&
      status !== 'ended' && { failed: { sinceMs, keptUntilMs: sinceMs + graceMs } }),
  };
}
