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
import { Fault, faultFor } from '#fault/fault';
import { type Clock, withinMs } from '#platform/clock';
import { derivedFrom, type Reloadable } from '#platform/files';
import type { BoughtPlan } from '#storage/ports/billing';

/** One try of a call, and all of them: less than an edge waits for an answer. Milliseconds. */
const TRY_MS_MAX = 3_500;
const CALL_MS_MAX = 8_000;

/** Tries behind the first one; the library gives them the same idempotency key. */
const RETRIES_MAX = 1;

/** Longest URL that is taken from Stripe: its checkout pages have a kilobyte behind `#`. Chosen. */
const URL_LENGTH_MAX = 8_192;

/** A key of live mode: its service ignores events of test mode, and the other way round. */
const LIVE_KEY = /^[a-z]+_live_/;

/** A price of the provider, and the plan that it is. */
type PlanPrice = { readonly plan: BoughtPlan; readonly price: string };

/** How the provider is spoken to. */
export type StripeOptions = {
  readonly clock: Clock;
  readonly apiKey: Reloadable<string>;
  /** What notifications are signed with; several while they are changed. */
  readonly webhookSecrets: Reloadable<readonly string[]>;
  /** The first one of each plan is sold; the others are those of older subscriptions. */
  readonly prices: readonly PlanPrice[];
  /** Where the API is; Stripe itself if left out. */
  readonly api?: {
    readonly protocol: 'http' | 'https';
    readonly host: string;
    readonly port: number;
  };
};

/** Stripe, by its own library. */
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

/** Since the version 2025-03-31 only Stripe's API leads from a charge to its invoice. */
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
  if (!isPage) throw away(new Error('the provider answers no page'));
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
  const text = 'the payment provider does not answer; try again';
  return faultFor('billing_unavailable', text, { cause, retryAfterS: 5 });
}

/** The key, a price or the portal: what is wrong is in the log, and nothing for callers. */
function notSetUp(cause: unknown): Fault {
  const text = 'the payment provider is not set up for this';
  return new Fault('billing_provider_not_configured', text, { cause });
}
