import { invalid } from '#errors/fault';
import { isLoopbackHost } from '#stdlib/network';
import type { BoughtPlan, DescriptionFact, InvoiceFact, ReturnFact } from '#storage/ports/billing';

/** Page of the payment provider, for a person's browser. */
export type ProviderPage = { readonly url: string };

/** A purchase request. The person's browser opens the URLs; the service never fetches them. */
export type CheckoutRequest = {
  readonly accountId: string;
  readonly plan: BoughtPlan;
  /** The account's existing customer; undefined: the account has no customer. */
  readonly customerId: string | undefined;
  readonly successUrl: string;
  readonly cancelUrl: string;
};

/** Fields of every event about a customer. Times come from the provider, in Unix milliseconds. */
type Named = {
  readonly id: string;
  readonly atMs: number;
  readonly customerId: string;
  /** Account named at purchase; undefined: find the account by customer. */
  readonly accountId: string | undefined;
};

/** Subscription state at the event's time. */
export type SubscriptionEvent = Named &
  Omit<DescriptionFact, 'kind' | 'eventId' | 'atMs'> & {
    readonly kind: 'subscription';
    readonly subscriptionId: string;
  };

/** Outcome of an invoice for a subscription. */
export type PaymentEvent = Named &
  Omit<InvoiceFact, 'kind' | 'eventId' | 'atMs'> & {
    readonly kind: 'payment';
    readonly subscriptionId: string;
  };

/** A payment that was returned to the customer, or reinstated. */
export type ReturnEvent = Named &
  Omit<ReturnFact, 'eventId' | 'atMs'> & { readonly kind: 'return' };

/** A refund or a dispute of a charge. `BillingProvider.chargedFor` returns the charged invoice. */
export type ChargeEvent = {
  readonly kind: 'charge';
  readonly id: string;
  readonly atMs: number;
  readonly chargeId: string;
  /** Id of the payment intent. Undefined: the event does not contain the id. */
  readonly paymentIntentId: string | undefined;
  readonly customerId: string | undefined;
  readonly invoiceId: string | undefined;
  readonly outcome: ReturnFact['outcome'];
};

/** The invoice that a charge paid, and its customer. */
export type ChargedInvoice = { readonly customerId: string; readonly invoiceId: string };

/** A completed purchase, which links a customer to an account. */
export type CustomerEvent = Named & { readonly kind: 'customer' };

/** An event about an account. */
export type AccountEvent = SubscriptionEvent | PaymentEvent | CustomerEvent | ReturnEvent;

/** Content of a notification from the provider. */
export type BillingEvent =
  | Exclude<AccountEvent, ReturnEvent>
  | ChargeEvent
  /** A subscription to a price without a configured plan. */
  | (Named & { readonly kind: 'unknown_price'; readonly price: string })
  /** An event that does not concern a plan. */
  | { readonly kind: 'other'; readonly id: string };

/**
 * A payment provider. Calls end within 8 s. Calls reject with `service_unavailable` (reason
 * `billing_unavailable`) if the provider does not answer. Calls reject with
 * `billing_provider_not_configured` if the provider refuses the request because key, prices or
 * portal are not set up.
 */
export interface BillingProvider {
  /** Provider name for the audit trail, such as `stripe`. */
  readonly name: string;
  /** Opens a page for buying a plan. Later notifications contain account and plan. */
  checkout(request: CheckoutRequest): Promise<ProviderPage>;
  /** Opens a page where a customer changes, cancels and pays subscriptions. */
  portal(request: { customerId: string; returnUrl: string }): Promise<ProviderPage>;
  /**
   * The event in a notification; `rawBody` must be the received bytes. Throws
   * `webhook_verification_failed` unless the provider has signed it within the last five minutes.
   * Throws `invalid_request` if a signed notification does not have the documented format.
   */
  read(rawBody: Uint8Array, signature: string | undefined, nowMs: number): BillingEvent;
  /** The invoice that a charge paid; undefined if the charge has no invoice or no customer. */
  chargedFor(charge: ChargeEvent): Promise<ChargedInvoice | undefined>;
}

/** Maximum length of a caller's URL, in characters. Browsers and proxies support this length. */
const URL_LENGTH_MAX = 2_048;

/**
 * Throws `invalid_request` if a browser must not be sent to the URL after a payment. Allowed are
 * https, and http for the loopback host. The service never fetches the URL (attacks, API7).
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
    throw invalid('invalid_text', field, `${field} must not contain a user name`);
  }
}
