import { invalid } from '#fault/fault';
import { isLoopbackHost } from '#platform/network';
import type { BoughtPlan, DescriptionFact, InvoiceFact, ReturnFact } from '#storage/ports/billing';

/** Where a payment provider sends a person's browser. */
export type ProviderPage = { readonly url: string };

/** A purchase that is to begin. The URLs are for the person's browser; no part fetches them. */
export type CheckoutRequest = {
  readonly accountId: string;
  readonly plan: BoughtPlan;
  /** Who has bought for the account before; undefined: no customer is known. */
  readonly customerId: string | undefined;
  readonly successUrl: string;
  readonly cancelUrl: string;
};

/** What every event says. Times are the provider's own, in Unix milliseconds. */
type Named = {
  readonly id: string;
  readonly atMs: number;
  readonly customerId: string;
  /** As the purchase named it; undefined: only the customer says whose it is. */
  readonly accountId: string | undefined;
};

/** A subscription as it is at the event's time. */
export type SubscriptionEvent = Named &
  Omit<DescriptionFact, 'kind' | 'eventId' | 'atMs'> & {
    readonly kind: 'subscription';
    readonly subscriptionId: string;
  };

/** The outcome of an invoice of a subscription. */
export type PaymentEvent = Named &
  Omit<InvoiceFact, 'kind' | 'eventId' | 'atMs'> & {
    readonly kind: 'payment';
    readonly subscriptionId: string;
  };

/** A payment was taken back from the seller, or reinstated. */
export type ReturnEvent = Named &
  Omit<ReturnFact, 'eventId' | 'atMs'> & { readonly kind: 'return' };

/** A refund or a dispute of a charge. `BillingProvider.chargedFor` names what the charge paid. */
export type ChargeEvent = {
  readonly kind: 'charge';
  readonly id: string;
  readonly atMs: number;
  readonly chargeId: string;
  /** Undefined: the event does not have it. */
  readonly paymentIntentId: string | undefined;
  readonly customerId: string | undefined;
  readonly invoiceId: string | undefined;
  readonly outcome: ReturnFact['outcome'];
};

/** The invoice that a charge paid, and its customer. */
export type ChargedInvoice = { readonly customerId: string; readonly invoiceId: string };

/** A purchase was completed: the customer is the account's. */
export type CustomerEvent = Named & { readonly kind: 'customer' };

/** An event that says something of an account. */
export type AccountEvent = SubscriptionEvent | PaymentEvent | CustomerEvent | ReturnEvent;

/** What a notification of the provider says. */
export type BillingEvent =
  | Exclude<AccountEvent, ReturnEvent>
  | ChargeEvent
  /** A subscription to a price that no plan has. */
  | (Named & { readonly kind: 'unknown_price'; readonly price: string })
  /** Nothing that concerns a plan. */
  | { readonly kind: 'other'; readonly id: string };

/**
 * A payment provider. Calls end within 8 s. They reject with `service_unavailable` for reason
 * `billing_unavailable` when the provider does not answer, and with
 * `billing_provider_not_configured` when it refuses what it is asked: key, prices or the portal are
 * not set up there.
 */
export interface BillingProvider {
  /** As the audit trail names it: `stripe`. */
  readonly name: string;
  /** A page on which a person pays for a plan. The account and its plan come with notifications. */
  checkout(request: CheckoutRequest): Promise<ProviderPage>;
  /** A page on which a customer changes, cancels and pays for what it has bought. */
  portal(request: { customerId: string; returnUrl: string }): Promise<ProviderPage>;
  /**
   * What a notification says that came with this signature, byte for byte as it came. Throws
   * `webhook_verification_failed` for one that the provider has not signed, or not in the last five
   * minutes, and `invalid_request` for a signed one that is not what the provider documents.
   */
  read(rawBody: Uint8Array, signature: string | undefined, nowMs: number): BillingEvent;
  /** The invoice that a charge paid; undefined: the charge paid none, or has no customer. */
  chargedFor(charge: ChargeEvent): Promise<ChargedInvoice | undefined>;
}

/** Characters of a URL that a caller gives. Source: what browsers and proxies bear. */
const URL_LENGTH_MAX = 2_048;

/**
 * Throws `invalid_request` for a URL to which no person's browser should be sent back after a
 * payment: https alone, http on its own machine. No part of the service fetches it (attacks, API7).
 */
export function assertCallerUrl(field: string, text: string): void {
  if (text.length > URL_LENGTH_MAX) {
    throw invalid('too_long', field, `${field} has more than ${URL_LENGTH_MAX} characters`);
  }
  const url = URL.parse(text);
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.host));
  if (url === null || !isSafe) {
    throw invalid('invalid_text', field, `${field} must be an https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('invalid_text', field, `${field} must not name a user`);
  }
}
