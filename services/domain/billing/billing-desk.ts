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
import { Fault, faultFor } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import type { BillingStore, BoughtPlan, StoredBilling } from '#storage/ports/billing';

/** Maximum number of attempts when other notifications conflict. */
const TRIES_MAX = 8;

/** A plan and its scheduled change. Times are Unix milliseconds. */
type PlanState = {
  readonly plan: string;
  readonly later: { readonly plan: string; readonly atMs: number } | undefined;
};

/** Audit line for a plan change caused by a notification. */
export type PlanAuditLine = {
  readonly accountId: string;
  readonly actor: { readonly kind: 'provider'; readonly id: string };
  readonly action: 'plan.change';
  readonly before: PlanDetails;
  readonly after: PlanDetails;
};

/** `plan`; with a scheduled change also `next_plan` and its time `next_plan_at`. */
type PlanDetails = Readonly<Record<string, string>>;

/** Ports for `billingDesk`. */
export type BillingDeskPorts = {
  /** Payment provider. Undefined: no provider is configured. */
  readonly provider: BillingProvider | undefined;
  readonly billing: BillingStore;
  readonly accounts: Pick<AccountStore, 'find'>;
  /** Stores the plan, and announces the account to all processes that cache the account. */
  readonly setPlan: (
    accountId: string,
    choice: PlanChoice,
    later: { readonly choice: PlanChoice; readonly atMs: number } | undefined,
  ) => Promise<unknown>;
  /**
   * Runs `change` after the line is durable, then adds a line with the outcome. If the line cannot
   * be made durable, rejects without running `change`. If `change` fails, rejects with its error.
   */
  readonly audited: (line: PlanAuditLine, change: () => Promise<void>) => Promise<void>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Time that a plan lasts after a failed payment, in milliseconds. */
  readonly graceMs: number;
};

/** Effect of a notification. `ignored`: the event refers to an unknown customer or account. */
type NotificationOutcome = 'changed' | 'unchanged' | 'ignored';

/**
 * Sells plans. Without a provider, all methods except `standing` reject with
 * `billing_provider_not_configured`. Methods also reject like `BillingProvider`, and with
 * `service_unavailable` if a store cannot be reached.
 */
export interface BillingDesk {
  /** An account's plan, subscription and purchase options. Rejects with `not_found`. */
  standing(accountId: string): Promise<BillingStanding>;
  /**
   * Opens a checkout page for a plan. Rejects with `invalid_plan` if the plan is not for sale, with
   * `not_found` for an unknown account, and with `conflict` if the account already has a
   * subscription or an agreed plan.
   */
  checkout(
    accountId: string,
    request: {
      readonly plan: string;
      readonly successUrl: string;
      readonly cancelUrl: string;
    },
  ): Promise<ProviderPage>;
  /**
   * Opens a page for managing a subscription. Rejects with `not_found` if the account has never
   * bought a plan.
   */
  portal(accountId: string, request: { readonly returnUrl: string }): Promise<ProviderPage>;
  /**
   * Processes a notification, given as received bytes. When the promise resolves, a changed plan is
   * stored, announced and in the audit trail. After a rejection the provider must send the
   * notification again. Repetition is safe.
   */
  notified(rawBody: Uint8Array, signature: string | undefined): Promise<NotificationOutcome>;
}

/** Creates a desk over these ports. */
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
      if (!isBought(plan)) throw new Fault('invalid_plan', 'the plan must be indie or pro');
      assertCallerUrl('success_url', successUrl);
      assertCallerUrl('cancel_url', cancelUrl);
      assertBuyer((await accounts.find(accountId))?.account, clock.wallMs());
      const known = (await billing.find(accountId))?.record ?? NO_BILLING;
      if (known.subscriptions.some(isLiving)) {
        const text = 'the account already has a subscription; change it at the portal';
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
        throw new Fault('not_found', 'the account has never bought a plan');
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
      // Store no data for a deleted account.
      if (account === undefined || account.status === 'deleting') return 'ignored';
      if (event.kind === 'unknown_price') {
        // The customer may buy other products from the same seller.
        if (event.accountId === undefined) return 'ignored';
        throw new Fault('billing_provider_not_configured', 'a subscription has an unknown price', {
          cause: new Error(`SERVICE_BILLING_PRICES has no plan for the price ${event.price}`),
        });
      }
      const stored = await remembered(billing, accountId, event);
      return await brought(ports, provider.name, accountId, stored);
    },
  };
}

/** Returns the event. For a charge, first reads the charged invoice from the provider. */
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
    throw new Fault('conflict', 'this account has an individually agreed plan');
  }
}

function noAccount(): Fault {
  return new Fault('not_found', 'the account does not exist');
}

/**
 * Adds an event to an account's billing record by compare-and-set, and returns the stored record.
 */
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
 * Sets the account's plan to the plan that its subscriptions give. Runs for known events too,
 * because the process that first received an event may have crashed before this step. If another
 * notification arrives meanwhile, both processes repeat this step. The last process that sets the
 * plan has then read all events.
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
  // Agreed plans never change by notification.
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
  const text = 'the subscription is changing concurrently; retry';
  return new Fault('service_unavailable', text, { retryAfterS: 1 });
}
