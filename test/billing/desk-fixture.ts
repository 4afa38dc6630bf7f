import * as assert from 'uvu/assert';
import { limitsOf, type PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { type BillingDeskPorts, billingDesk, type PlanAuditLine } from '#billing/billing-desk';
import { type LocalEvent, localProvider } from '#billing/local-provider';
import { unchanging } from '#stdlib/files';
import { memoryAccountStore } from '#storage/memory/accounts';
import { memoryBillingStore } from '#storage/memory/meters';
import { ACCOUNT_ID, DAY_MS } from '#test/billing/billing-events';
import { ManualClock } from '#test/support/manual-clock';

/** Grace period after a failed payment, in milliseconds. */
export const GRACE_MS = 7 * DAY_MS;
const SECRET = 'whsec_of_this_test';

/** A desk with a local provider, memory stores, and a free account. */
export async function deskUnderTest(change: Partial<BillingDeskPorts> = {}) {
  const clock = new ManualClock();
  const startMs = clock.wallMs();
  const accounts = memoryAccountStore(clock);
  const billing = memoryBillingStore();
  const provider = localProvider(unchanging([SECRET]));
  const steps: (PlanAuditLine | 'set')[] = [];
  const setPlan: BillingDeskPorts['setPlan'] = async (accountId, choice, later) => {
    steps.push('set');
    const next = later && { ...planOf(later.choice), atMs: later.atMs };
    return await accounts.setPlan(accountId, { ...planOf(choice), later: next });
  };
  const audited: BillingDeskPorts['audited'] = async (line, change) => {
    steps.push(line);
    await change();
  };
  const ports = { provider, billing, accounts, setPlan, audited, clock, graceMs: GRACE_MS };
  const desk = billingDesk({ ...ports, ...change });
  const account = { id: ACCOUNT_ID, name: 'a', plan: 'free', status: 'active' } as const;
  await accounts.create({ ...account, limits: limitsOf({ plan: 'free' }), createdAtMs: 0 });
  const bytesOf = (event: LocalEvent) => {
    const { body, signature } = provider.notificationFor(event, clock.wallMs());
    return [new TextEncoder().encode(body), signature] as const;
  };
  return {
    ...ports,
    desk,
    steps,
    startMs,
    lines: () => steps.filter((step) => step !== 'set'),
    notify: async (event: LocalEvent) => await desk.notified(...bytesOf(event)),
    async account() {
      const found = await accounts.find(ACCOUNT_ID);
      assert.ok(found);
      return accountAt(found.account, clock.wallMs());
    },
  };
}

function planOf(choice: PlanChoice) {
  return { plan: choice.plan, limits: limitsOf(choice) };
}

let events = 0;

/** An event. Default: an active subscription to pro for 30 days; overridden by `change`. */
export function eventAt(atMs: number, change: Partial<LocalEvent> = {}): LocalEvent {
  events += 1;
  return {
    id: `evt_${events}`,
    atMs,
    accountId: ACCOUNT_ID,
    plan: 'pro',
    type: 'customer.subscription.updated',
    status: 'active',
    periodEndsAtMs: atMs + 30 * DAY_MS,
    ...change,
  };
}
