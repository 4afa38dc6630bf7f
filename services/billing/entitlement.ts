import type { BilledSubscription, BillingRecord, BoughtPlan } from '#storage/billing-store';

/** What an account has bought. */
export type Entitlement = {
  readonly plan: 'free' | BoughtPlan;
  /** What it has from a time on, if nothing more is heard; undefined: the same. */
  readonly later: { readonly plan: 'free' | BoughtPlan; readonly atMs: number } | undefined;
};

/** Dearest first. */
const BOUGHT: readonly BoughtPlan[] = ['pro', 'indie'];

/**
 * The plan that an account's subscriptions give it at `nowMs`, and what follows; undefined: it has
 * never had one. A dearer plan counts at once, a cheaper one and none when what was paid is over,
 * and a subscription whose payment fails for `graceMs` from the first failure on. Source: decision
 * 248.
 */
export function entitlementOf(
  record: BillingRecord,
  nowMs: number,
  graceMs: number,
): Entitlement | undefined {
  const described = record.subscriptions.filter(({ snapshot }) => snapshot !== undefined);
  if (described.length === 0) return undefined;
  const until = BOUGHT.map((plan) => {
    const ends = described.map((subscription) => untilMs(subscription, plan, graceMs));
    return { plan, atMs: Math.max(...ends) };
  });
  const planAfter = (ms: number): Entitlement['plan'] =>
    until.find(({ atMs }) => atMs > ms)?.plan ?? 'free';
  const plan = planAfter(nowMs);
  const changes = until
    .filter(({ atMs }) => atMs > nowMs && Number.isFinite(atMs))
    .map(({ atMs }) => ({ plan: planAfter(atMs), atMs }))
    .sort((a, b) => a.atMs - b.atMs);
  return { plan, later: changes.find((change) => change.plan !== plan) };
}

/** Whether a subscription goes on or could again: another one beside it would be paid for twice. */
export function isLiving({ snapshot }: BilledSubscription): boolean {
  return snapshot?.status === 'active' || snapshot?.status === 'overdue';
}

/** Until when a subscription gives a plan; `-Infinity`: it does not. */
function untilMs(subscription: BilledSubscription, plan: BoughtPlan, graceMs: number): number {
  const { snapshot, paidThroughMs, failedAtMs } = subscription;
  const isPresent = isLiving(subscription) && snapshot?.plan === plan;
  const endsAtMs = isPresent
    ? (snapshot.endsAtMs ?? Number.POSITIVE_INFINITY)
    : (paidThroughMs[plan] ?? Number.NEGATIVE_INFINITY);
  const [failedMs] = failedAtMs;
  return failedMs === undefined ? endsAtMs : Math.min(endsAtMs, failedMs + graceMs);
}
