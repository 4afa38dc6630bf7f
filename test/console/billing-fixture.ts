import { limitsOf, type PlanChoice } from '#accounts/plan';
import type { AuditTrail } from '#audit/trail';
import { billingDesk } from '#billing/billing-desk';
import type { BillingProvider } from '#billing/provider';
import type { LimiterClient } from '#grpc/limiter-messages';
import { AccountCalls } from '#limiter/calls';
import type { Clock } from '#stdlib/clock';
import { memoryBillingStore } from '#storage/memory/meters';
import type { AccountStore } from '#storage/ports/accounts';
import { GRACE_MS } from '#test/billing/desk-fixture';

type Parts = {
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly trail: AuditTrail;
  readonly provider: BillingProvider | undefined;
};

/** Billing desk for accounts in a store, with a limiter that answers only usage queries. */
export function billingOf({ accounts, clock, trail, provider }: Parts) {
  const desk = billingDesk({
    ...{ provider, billing: memoryBillingStore(), accounts, clock, graceMs: GRACE_MS },
    setPlan: async (accountId, choice, later) => {
      const next = later && { ...planOf(later.choice), atMs: later.atMs };
      return await accounts.setPlan(accountId, { ...planOf(choice), later: next });
    },
    audited: async (_line, change) => await change(),
  });
  const calls = new AccountCalls(trail, desk);
  const limiter: LimiterClient = {
    ask(call) {
      if (call.kind !== 'account') throw new Error('this limiter answers only usage queries');
      return calls.answer(call);
    },
  };
  return { desk, limiter };
}

function planOf(choice: PlanChoice) {
  return { plan: choice.plan, limits: limitsOf(choice) };
}
