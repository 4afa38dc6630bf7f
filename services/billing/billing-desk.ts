import { isDeepStrictEqual } from 'node:util';
import type { Account } from '#accounts/account';
import type { PlanChoice } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import { type BillingStanding, standingOf } from '#billing/billing-standing';
import { type Entitlement, entitlementOf, isLiving } from '#billing/entitlement';
import {
  type AccountEvent,
  assertCallerUrl,
  type BillingEvent,
  type BillingProvider,
  type ChargeEvent,
  type ProviderPage,
  type ReturnEvent,
} from '#billing/provider';
import { applied, NO_BILLING } from '#billing/subscription';
import { Fault, faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { AccountStore } from '#storage/ports/accounts';
import type { BillingStore, BoughtPlan, StoredBilling } from '#storage/ports/billing';

/** Tries of a change that notifications of the same account get in front of. Chosen. */
const TRIES_MAX = 8;

/** A plan, and the one that follows. Times are Unix milliseconds. */
type PlanState = {
  readonly plan: string;
  readonly later: { readonly plan: string; readonly atMs: number } | undefined;
};

/** A plan that a notification changes, as the audit trail has it. */
export type PlanAuditLine = {
  readonly accountId: string;
  readonly actor: { readonly kind: 'provider'; readonly id: string };
  readonly action: 'plan.change';
  readonly before: PlanDetails;
  readonly after: PlanDetails;
};

/** `plan`; with a change to come, `next_plan` and its time `next_plan_at` too. */
type PlanDetails = Readonly<Record<string, string>>;

/** What the desk needs of its process. */
export type BillingDeskPorts = {
  /** Undefined: none is configured. */
  readonly provider: BillingProvider | undefined;
  readonly billing: BillingStore;
  readonly accounts: Pick<AccountStore, 'find'>;
  /** Stores the plan and announces it to all who cache the account. */
  readonly setPlan: (
    accountId: string,
    choice: PlanChoice,
    later: { readonly choice: PlanChoice; readonly atMs: number } | undefined,
  ) => Promise<unknown>;
  /**
   * Runs `change` once the line is durable, and not at all if it cannot be; adds how it ended, and
   * rejects as it does.
   */
  readonly audited: (line: PlanAuditLine, change: () => Promise<void>) => Promise<void>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** How long a plan lasts whose payment fails, in milliseconds. */
  readonly graceMs: number;
};

/** What a notification has done; `ignored`: it is of nothing that is known here. */
type NotificationOutcome = 'changed' | 'unchanged' | 'ignored';

/**
 * Where plans are bought. All but `standing` rejects with `billing_provider_not_configured` without a
 * provider, as `BillingProvider` does, and with `service_unavailable` when a store cannot be reached.
 */
export interface BillingDesk {
  /** What an account has bought, and what it may buy. Rejects with `not_found`. */
  standing(accountId: string): Promise<BillingStanding>;
  /**
   * A page to buy a plan on. Rejects with `invalid_plan` for one that is not bought, with
   * `not_found`, and with `conflict` for an account that has a subscription or an agreed plan.
   */
  checkout(
    accountId: string,
    request: {
      readonly plan: string;
      readonly successUrl: string;
      readonly cancelUrl: string;
    },
  ): Promise<ProviderPage>;
  /** A page to change what was bought. Rejects with `not_found` if nothing ever was. */
  portal(accountId: string, request: { readonly returnUrl: string }): Promise<ProviderPage>;
  /**
   * Takes a notification as it came. A plan that it changes is stored, announced and in the audit
   * trail when its promise fulfils; one that rejects is to be sent again, and does no harm then.
   */
  notified(rawBody: Uint8Array, signature: string | undefined): Promise<NotificationOutcome>;
}

/** A desk over these ports. */
export function billingDesk(ports: BillingDeskPorts): BillingDesk {
  const { billing, accounts, clock } = ports;

  return {
    async standing(accountId) {
      const account = (await accounts.find(accountId))?.account;
      if (account === undefined) throw noAccount();
      const known = (await billing.find(accountId))?.record ?? NO_BILLING;
      const how = { provider: ports.provider?.name, graceMs: ports.graceMs };
      return standingOf(accountAt(account, clock.wallMs()), known, how);
    },

    async checkout(accountId, { plan, successUrl, cancelUrl }) {
      const provider = configured(ports.provider);
      if (!isBought(plan)) throw new Fault('invalid_plan', 'the plans to buy are indie and pro');
      assertCallerUrl('success_url', successUrl);
      assertCallerUrl('cancel_url', cancelUrl);
      assertBuyer((await accounts.find(accountId))?.account, clock.wallMs());
      const known = (await billing.find(accountId))?.record ?? NO_BILLING;
      if (known.subscriptions.some(isLiving)) {
        const text = 'the account has a subscription, which is changed at the portal';
        throw faultFor('already_exists', text);
      }
      const customerId = known.customers[0]?.id;
      return await provider.checkout({ accountId, plan, customerId, successUrl, cancelUrl });
    },

    async portal(accountId, { returnUrl }) {
      const provider = configured(ports.provider);
      assertCallerUrl('return_url', returnUrl);
      const customerId = (await billing.find(accountId))?.record.customers[0]?.id;
      if (customerId === undefined) {
        throw new Fault('not_found', 'the account has not bought anything');
      }
      return await provider.portal({ customerId, returnUrl });
    },

    async notified(rawBody, signature) {
      const provider = configured(ports.provider);
      const event = await located(provider, provider.read(rawBody, signature, clock.wallMs()));
      if (event.kind === 'other') return 'ignored';
      const accountId = event.accountId ?? (await billing.accountOf(event.customerId));
      if (accountId === undefined) return 'ignored';
      const account = (await accounts.find(accountId))?.account;
      // Of one that is deleted nothing is kept any more.
      if (account === undefined || account.status === 'deleting') return 'ignored';
      if (event.kind === 'unknown_price') {
        // What else this customer buys of the same seller is not bought here.
        if (event.accountId === undefined) return 'ignored';
        throw new Fault('billing_provider_not_configured', 'a subscription has an unknown price', {
          cause: new Error(`SERVICE_BILLING_PRICES has no plan for ${event.price}`),
        });
      }
      const stored = await remembered(billing, accountId, event);
      return await brought(ports, provider.name, accountId, stored);
    },
  };
}

/** The event, with the invoice of a charge looked up at the provider. */
async function located(
  provider: BillingProvider,
  event: BillingEvent,
): Promise<Exclude<BillingEvent, ChargeEvent> | ReturnEvent> {
  if (event.kind !== 'charge') return event;
  const { id, atMs, outcome } = event;
  const charged = await provider.chargedFor(event);
  if (charged === undefined) return { kind: 'other', id };
  return { kind: 'return', id, atMs, outcome, accountId: undefined, ...charged };
}

function configured(provider: BillingProvider | undefined): BillingProvider {
  if (provider !== undefined) return provider;
  throw new Fault('billing_provider_not_configured', 'no payment provider is set up');
}

function isBought(plan: string): plan is BoughtPlan {
  return plan === 'indie' || plan === 'pro';
}

function assertBuyer(account: Account | undefined, nowMs: number): void {
  if (account === undefined) throw noAccount();
  if (accountAt(account, nowMs).plan === 'enterprise') {
    throw new Fault('conflict', 'the plan of this account is agreed, not bought');
  }
}

function noAccount(): Fault {
  return new Fault('not_found', 'there is no such account');
}

/** Adds an event to what is known of an account; answers the whole. */
async function remembered(
  billing: BillingStore,
  accountId: string,
  event: AccountEvent,
): Promise<StoredBilling> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { record, revision } = (await billing.find(accountId)) ?? NOTHING_STORED;
    const next = applied(record, event);
    if (isDeepStrictEqual(next, record)) return { record, revision };
    if (await billing.put(accountId, revision, next)) {
      return { record: next, revision: revision + 1 };
    }
  }
  throw busy();
}

const NOTHING_STORED: StoredBilling = { record: NO_BILLING, revision: 0 };

/**
 * Brings the account's plan to what its subscriptions say, also after an event that was known: the
 * process that took it first may have ended in between. Where another notification came meanwhile,
 * both do it again, so that the last one to set the plan has seen all of them.
 */
async function brought(
  ports: BillingDeskPorts,
  providerName: string,
  accountId: string,
  stored: StoredBilling,
): Promise<NotificationOutcome> {
  let outcome: NotificationOutcome = 'unchanged';
  let known = stored;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const isChanged = await planBrought(ports, providerName, accountId, known);
    if (isChanged) outcome = 'changed';
    const newest = await ports.billing.find(accountId);
    if (newest === undefined || newest.revision === known.revision) return outcome;
    known = newest;
  }
  throw busy();
}

async function planBrought(
  ports: BillingDeskPorts,
  providerName: string,
  accountId: string,
  { record }: StoredBilling,
): Promise<boolean> {
  const nowMs = ports.clock.wallMs();
  const bought = entitlementOf(record, nowMs, ports.graceMs);
  const found = (await ports.accounts.find(accountId))?.account;
  if (bought === undefined || found === undefined) return false;
  const account = accountAt(found, nowMs);
  // What was agreed is changed by those who agreed on it.
  if (account.plan === 'enterprise') return false;
  const before = planStateOf(account);
  if (isDeepStrictEqual(before, bought)) return false;
  const actor = { kind: 'provider', id: providerName } as const;
  const details = { before: detailsOf(before), after: detailsOf(bought) };
  const line = { accountId, actor, action: 'plan.change', ...details } as const;
  await ports.audited(line, () => setPlan(ports, accountId, bought));
  return true;
}

async function setPlan(
  ports: BillingDeskPorts,
  accountId: string,
  { plan, later }: Entitlement,
): Promise<void> {
  const next = later && { choice: { plan: later.plan }, atMs: later.atMs };
  await ports.setPlan(accountId, { plan }, next);
}

function planStateOf({ plan, planChange }: Account): PlanState {
  const later = planChange && { plan: planChange.plan, atMs: planChange.atMs };
  return { plan, later };
}

function detailsOf({ plan, later }: PlanState): PlanDetails {
  if (later === undefined) return { plan };
  return { plan, next_plan: later.plan, next_plan_at: new Date(later.atMs).toISOString() };
}

function busy(): Fault {
  const text = 'the subscription is being changed by others';
  return new Fault('service_unavailable', text, { retryAfterS: 1 });
}
