import { NOTIFICATION_BYTES_MAX } from '#billing/billing-questions';
import { endpoint } from '#edge/endpoints/endpoint';
import {
  BillingPage,
  CheckoutBody,
  NotificationAnswer,
  NotificationBody,
  PortalBody,
} from '#edge/schemas/account';

/** Source: decision 248. */
export const createCheckout = endpoint({
  name: 'createCheckout',
  method: 'POST',
  path: '/billing/checkout',
  tag: 'Billing',
  summary: 'Begin to buy a plan',
  description:
    'Answers a page of the payment provider on which a person pays for `indie` or `pro`. The plan counts ' +
    'as soon as the provider has said that it is paid, within seconds. The browser goes on to ' +
    '`success_url` or `cancel_url`, which say nothing about the payment. An account that has a ' +
    'subscription changes it at the portal: 409 `already_exists`. One with an agreed plan buys none: ' +
    '409. Each call is a line of the audit trail. Needs a key with the scope `billing`, and costs one request.',
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
      return { data: await billing.checkout(caller, { plan, successUrl, cancelUrl }) };
    },
  },
});

/** Source: decision 248. */
export const openPortal = endpoint({
  name: 'openPortal',
  method: 'POST',
  path: '/billing/portal',
  tag: 'Billing',
  summary: 'Change what was bought',
  description:
    'Answers a page of the payment provider on which a person changes or cancels what the account has ' +
    'bought, and how it is paid. 404 for an account that has never bought anything. Each call is a line ' +
    'of the audit trail. Needs a key with the scope `billing`, and costs one request.',
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
      return { data: await billing.portal(caller, body.return_url) };
    },
  },
});

/** Source: decision 248. */
export const notifyBilling = endpoint({
  name: 'notifyBilling',
  method: 'POST',
  path: '/billing/notifications',
  tag: 'Billing',
  summary: 'Take a notification of the payment provider',
  description:
    'Called by the payment provider, and by nothing else: an event of Stripe with its `Stripe-Signature`. ' +
    'It needs no key, and takes no account of one: the signature over the bytes of the body says who ' +
    'sent it. It is answered when what it says counts; anything but 200 is to be sent again, and a ' +
    'notification that comes twice changes nothing more. It costs no request. A network that sends 30 ' +
    'refused ones in a minute is answered 503 `too_many_refused_notifications` for the next one. A query ' +
    'is ignored.',
  scope: 'none',
  body: NotificationBody,
  bodyBytesMax: NOTIFICATION_BYTES_MAX,
  response: NotificationAnswer,
  refusals: ['too_many_refused_notifications', 'wrong_type', 'upgrade_in_progress'],
  refusalCodes: ['webhook_verification_failed', 'billing_provider_not_configured'],
  handler: { kind: 'notification' },
});
