import Stripe from 'stripe';
import type {
  BillingProvider,
  ChargedInvoice,
  ChargeEvent,
  CheckoutRequest,
  ProviderPage,
} from '#billing/provider';
import { verifiedNotification } from '#billing/signed-notification';
import { ACCOUNT_METADATA, billingEventOf } from '#billing/stripe-event';
import { Fault, faultFor } from '#errors/fault';
import { type Clock, withinMs } from '#stdlib/clock';
import { derivedFrom, type Reloadable } from '#stdlib/files';
import type { BoughtPlan } from '#storage/ports/billing';

/** Maximum time per attempt, in milliseconds. */
const TRY_MS_MAX = 3_500;

/** Maximum time per call over all attempts, in milliseconds. Edges time out later. */
const CALL_MS_MAX = 8_000;

/** Maximum number of retries. Stripe's library repeats the same idempotency key. */
const RETRIES_MAX = 1;

/**
 * Maximum length of a URL from Stripe, in characters. Checkout URLs have about a kilobyte after
 * `#`.
 */
const URL_LENGTH_MAX = 8_192;

/**
 * Pattern for live-mode keys. With a live-mode key, test-mode events are ignored, and vice versa.
 */
const LIVE_KEY = /^[a-z]+_live_/;

/** A price at the provider with its plan. */
type PlanPrice = { readonly plan: BoughtPlan; readonly price: string };

/** Options for `stripeProvider`. */
export type StripeOptions = {
  readonly clock: Clock;
  readonly apiKey: Reloadable<string>;
  /** Secrets that sign notifications; more than one during a rotation. */
  readonly webhookSecrets: Reloadable<readonly string[]>;
  /** A purchase uses a plan's first price. Further prices identify older subscriptions. */
  readonly prices: readonly PlanPrice[];
  /** API address; default: Stripe. */
  readonly api?: {
    readonly protocol: 'http' | 'https';
    readonly host: string;
    readonly port: number;
  };
};

/** Creates a payment provider on Stripe's library. */
export function stripeProvider(options: StripeOptions): BillingProvider {
  const { clock, apiKey, webhookSecrets, prices, api = {} } = options;
  const client = derivedFrom(
    apiKey,
    (key) =>
      new Stripe(key, {
        ...api,
        timeout: TRY_MS_MAX,
        maxNetworkRetries: RETRIES_MAX,
        telemetry: false,
      }),
  );
  const planOf = new Map(prices.map(({ plan, price }) => [price, plan]));

  async function asked<Answer>(call: (stripe: Stripe) => Promise<Answer>): Promise<Answer> {
    try {
      return await withinMs(clock, CALL_MS_MAX, call(client.current), late);
    } catch (error) {
      throw faultOf(error);
    }
  }

  const page = async (call: (stripe: Stripe) => Promise<{ url: string | null }>) =>
    pageOf(await asked(call));

  return {
    name: 'stripe',
    checkout: (request) =>
      page((stripe) => stripe.checkout.sessions.create(sessionOf(request, prices))),
    portal: ({ customerId, returnUrl }) =>
      page((stripe) =>
        stripe.billingPortal.sessions.create({ customer: customerId, return_url: returnUrl }),
      ),
    read(rawBody, signature, nowMs) {
      const secrets = webhookSecrets.current;
      const isLive = LIVE_KEY.test(apiKey.current);
      const json = verifiedNotification(rawBody, signature, secrets, nowMs);
      return billingEventOf(json, { planOf, isLive });
    },
    chargedFor: (charge) => asked((stripe) => chargedInvoice(stripe, charge)),
  };
}

function sessionOf(
  { accountId, plan, customerId, successUrl, cancelUrl }: CheckoutRequest,
  prices: readonly PlanPrice[],
): Stripe.Checkout.SessionCreateParams {
  const sold = prices.find((one) => one.plan === plan);
  if (sold === undefined) throw notSetUp(`no price is configured for the plan ${plan}`);
  const metadata = { [ACCOUNT_METADATA]: accountId };
  return {
    mode: 'subscription',
    line_items: [{ price: sold.price, quantity: 1 }],
    success_url: successUrl,
    cancel_url: cancelUrl,
    client_reference_id: accountId,
    metadata,
    subscription_data: { metadata },
    ...(customerId === undefined ? {} : { customer: customerId }),
  };
}

/** A charge's invoice and customer. Since version 2025-03-31 events lack the invoice. */
async function chargedInvoice(
  stripe: Stripe,
  charge: ChargeEvent,
): Promise<ChargedInvoice | undefined> {
  let { customerId, paymentIntentId, invoiceId } = charge;
  if (customerId === undefined) {
    const found = await stripe.charges.retrieve(charge.chargeId);
    customerId = idOf(found.customer);
    paymentIntentId ??= idOf(found.payment_intent);
  }
  if (invoiceId === undefined && paymentIntentId !== undefined) {
    const payment = { type: 'payment_intent', payment_intent: paymentIntentId } as const;
    const { data } = await stripe.invoicePayments.list({ payment, limit: 1 });
    invoiceId = idOf(data[0]?.invoice);
  }
  if (customerId === undefined || invoiceId === undefined) return undefined;
  return { customerId, invoiceId };
}

function idOf(reference: string | { readonly id: string } | null | undefined): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

function pageOf({ url }: { readonly url: string | null }): ProviderPage {
  const isPage = url !== null && url.length <= URL_LENGTH_MAX && /^https?:$/.test(schemeOf(url));
  if (!isPage) throw away(new Error('the provider returned no page URL'));
  return { url };
}

function schemeOf(url: string): string {
  return URL.parse(url)?.protocol ?? '';
}

function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { errors } = Stripe;
  const isRefusal =
    error instanceof errors.StripeAuthenticationError ||
    error instanceof errors.StripePermissionError ||
    error instanceof errors.StripeInvalidRequestError;
  return isRefusal ? notSetUp(error) : away(error);
}

function late(): Fault {
  return away(new Error(`no answer in ${CALL_MS_MAX} ms`));
}

function away(cause: unknown): Fault {
  const text = 'the payment provider does not answer; retry';
  return faultFor('billing_unavailable', text, { cause, retryAfterS: 5 });
}

/** A key, price or portal setting is wrong. Details go to the log, not to callers. */
function notSetUp(cause: unknown): Fault {
  const text = 'the payment provider is not configured for this call';
  return new Fault('billing_provider_not_configured', text, { cause });
}
