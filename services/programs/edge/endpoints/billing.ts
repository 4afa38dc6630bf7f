import { NOTIFICATION_BYTES_MAX } from '#billing/billing-questions';
import { type AccountCaller, describedKey, endpoint } from '#edge/endpoints/endpoint';
import {
  BillingPage,
  CheckoutBody,
  NotificationAnswer,
  NotificationBody,
  PortalBody,
} from '#edge/schemas/account';

/** The caller of a billing operation, which needs a key. */
const keyCaller = (caller: AccountCaller) => ({ ...caller, description: describedKey(caller) });

/** Endpoint `POST /billing/checkout`. Source: decision 248. */
export const createCheckout = endpoint({
  name: 'createCheckout',
  method: 'POST',
  path: '/billing/checkout',
  tag: 'Billing',
  summary: 'Start the purchase of a plan',
  description:
    'Returns the URL of a page of the payment provider, where a person pays for `indie` or ' +
    '`pro`. The plan is active within seconds, as soon as the provider reports the payment. The ' +
    'provider redirects the browser to `success_url` or `cancel_url`; neither URL proves a ' +
    'payment. 409 `already_exists` if the account has a subscription: change the subscription at ' +
    'the portal. 409 if the plan of the account is agreed individually. Each call is a line of ' +
    'the audit trail. Needs a key with the scope `billing`. Costs one request.',
  scope: 'billing',
  body: CheckoutBody,
  response: BillingPage,
  refusals: [
    'missing_field',
    'too_long',
    'already_exists',
    'audit_unavailable',
    'billing_unavailable',
    'upgrade_in_progress',
  ],
  refusalCodes: ['conflict', 'invalid_plan', 'billing_provider_not_configured'],
  handler: {
    kind: 'account',
    answer: async ({ body }, caller, { billing }) => {
      const { plan, success_url: successUrl, cancel_url: cancelUrl } = body;
      return { data: await billing.checkout(keyCaller(caller), { plan, successUrl, cancelUrl }) };
    },
  },
});

/** Endpoint `POST /billing/portal`. Source: decision 248. */
export const openPortal = endpoint({
  name: 'openPortal',
  method: 'POST',
  path: '/billing/portal',
  tag: 'Billing',
  summary: 'Change or cancel the subscription',
  description:
    'Returns the URL of a page of the payment provider, where a person changes or cancels the ' +
    'subscription of the account, or changes its payment method. 404 if the account has never ' +
    'bought a plan. Each call is a line of the audit trail. Needs a key with the scope ' +
    '`billing`. Costs one request.',
  scope: 'billing',
  body: PortalBody,
  response: BillingPage,
  refusals: [
    'missing_field',
    'too_long',
    'audit_unavailable',
    'billing_unavailable',
    'upgrade_in_progress',
  ],
  refusalCodes: ['not_found', 'billing_provider_not_configured'],
  handler: {
    kind: 'account',
    answer: async ({ body }, caller, { billing }) => {
      return { data: await billing.portal(keyCaller(caller), body.return_url) };
    },
  },
});

/** Endpoint `POST /billing/notifications`. Source: decision 248. */
export const notifyBilling = endpoint({
  name: 'notifyBilling',
  method: 'POST',
  path: '/billing/notifications',
  tag: 'Billing',
  summary: 'Receive a webhook of the payment provider',
  description:
    'Only the payment provider calls this endpoint, with a Stripe event and its ' +
    '`Stripe-Signature`. The signature over the bytes of the body authenticates the sender; API ' +
    'keys are ignored. The answer is 200 after the event was applied. The provider must send the ' +
    'event again after any other status; a repeated event changes nothing. A call costs no ' +
    'request. After 30 refused notifications of a network in a minute, the network is answered ' +
    '503 `too_many_refused_notifications` for a minute. A query is ignored.',
  scope: 'none',
  body: NotificationBody,
  bodyBytesMax: NOTIFICATION_BYTES_MAX,
  response: NotificationAnswer,
  refusals: ['too_many_refused_notifications', 'wrong_type', 'upgrade_in_progress'],
  refusalCodes: ['webhook_verification_failed', 'billing_provider_not_configured'],
  handler: { kind: 'notification' },
});
