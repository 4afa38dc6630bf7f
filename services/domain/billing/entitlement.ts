import { type Payment, type SubscriptionState, stateOf, takenBack } from '#billing/subscription';
import type { BilledSubscription, BillingRecord, BoughtPlan } from '#storage/ports/billing';

/** The plan that an account has bought. */
export type Entitlement = {
  readonly plan: 'free' | BoughtPlan;
  /** Plan that follows without further notifications; undefined: the present plan continues. */
  readonly later: { readonly plan: 'free' | BoughtPlan; readonly atMs: number } | undefined;
};

/** Plans for sale, most expensive first. */
const BOUGHT: readonly BoughtPlan[] = ['pro', 'indie'];

const NEVER = Number.NEGATIVE_INFINITY;
const ALWAYS = Number.POSITIVE_INFINITY;

/**
 * Plan that an account's subscriptions give at `nowMs`, and the plan that follows. Undefined: the
 * account has no subscription. A paid plan lasts until the paid time ends. The plan then continues
 * while the subscription renews, and for `graceMs` after the first failed payment of a renewal.
 * Without a payment a subscription gives a plan only during a trial. Source: decision 300; table in
 * docs/billing.md.
 */
export function entitlementOf(
  record: BillingRecord,
  nowMs: number,
  graceMs: number,
): Entitlement | undefined {
  const states = record.subscriptions
    .map((subscription) => stateOf(subscription, record.returns))
    .filter(({ terms }) => terms !== undefined);
  if (states.length === 0) return undefined;
  const taken = takenBack(record.returns);
  const until = BOUGHT.map((plan) => {
    const ends = states.map((state) => untilMs(state, plan, taken, graceMs));
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

/** Unix milliseconds until which a subscription gives any plan; `-Infinity`: no plan. */
export function keptUntilMs(
  record: BillingRecord,
  subscription: BilledSubscription,
  graceMs: number,
): number {
  const state = stateOf(subscription, record.returns);
  const taken = takenBack(record.returns);
  return Math.max(...BOUGHT.map((plan) => untilMs(state, plan, taken, graceMs)));
}

/**
 * Whether a subscription renews or can renew again. If so, a second purchase would charge the
 * customer twice.
 */
export function isLiving(subscription: BilledSubscription): boolean {
  const status = stateOf(subscription, []).terms?.status;
  return status === 'trial' || status === 'active' || status === 'overdue';
}

/** Unix milliseconds until which a subscription gives a plan; `-Infinity`: never. */
function untilMs(
  state: SubscriptionState,
  plan: BoughtPlan,
  taken: ReadonlyMap<string, number>,
  graceMs: number,
): number {
  // A paid plan includes every cheaper plan.
  const payments = state.payments.filter((payment) => isAtLeast(payment.plan, plan));
  const paidEndMs = Math.max(NEVER, ...payments.map(({ throughMs }) => throughMs));
  const triedEndMs =
    state.trial && isAtLeast(state.trial.plan, plan) ? state.trial.throughMs : NEVER;
  const endMs = Math.max(paidEndMs, triedEndMs);
  const last = newestOf(state.payments);
  if (last?.invoiceId !== undefined && taken.has(last.invoiceId)) return endMs;
  return Math.max(endMs, goesOnUntilMs(state, plan, last, graceMs));
}

/**
 * Unix milliseconds until which a subscription lasts beyond its paid time; `-Infinity`: it ends
 * with the paid time.
 */
function goesOnUntilMs(
  state: SubscriptionState,
  plan: BoughtPlan,
  last: Payment | undefined,
  graceMs: number,
): number {
  const { terms, failures } = state;
  if (terms === undefined || terms.isPaused === true || isWrittenOff(state, last)) return NEVER;
  if (!isAtLeast(terms.plan, plan) || !isEverGiven(state, plan, last)) return NEVER;
  const endsAtMs = terms.endsAtMs ?? ALWAYS;
  switch (terms.status) {
    case 'trial':
      return endsAtMs;
    case 'active':
    case 'overdue':
      if (failures.size === 0) return endsAtMs;
      // Only the paid plan's renewals have a grace period; plan switches and first payments do not.
      if (last === undefined || terms.plan !== plan) return NEVER;
      return Math.min(endsAtMs, Math.min(...failures.values()) + graceMs);
    case 'inactive':
    case 'ended':
      return NEVER;
  }
}

/** Whether a renewal was written off. A written-off plan switch leaves the paid plan in force. */
function isWrittenOff({ writtenOff }: SubscriptionState, last: Payment | undefined): boolean {
  return [...writtenOff].some((plan) => last === undefined || isAtLeast(last.plan, plan));
}

/** Whether the last payment was for the plan, or the plan has an unpaid trial. */
function isEverGiven(
  { terms, trial }: SubscriptionState,
  plan: BoughtPlan,
  last: Payment | undefined,
): boolean {
  const isTried = trial !== undefined && isAtLeast(trial.plan, plan);
  if (last === undefined || terms?.status === 'trial') return isTried;
  return isAtLeast(last.plan, plan);
}

/** Payment whose period begins last. */
function newestOf(payments: readonly Payment[]): Payment | undefined {
  return payments.toSorted((a, b) => b.fromMs - a.fromMs || b.throughMs - a.throughMs)[0];
}

function isAtLeast(plan: BoughtPlan, other: BoughtPlan): boolean {
  return BOUGHT.indexOf(plan) <= BOUGHT.indexOf(other);
}
