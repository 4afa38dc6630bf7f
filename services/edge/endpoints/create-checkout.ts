import { endpoint } from '#edge/endpoint';
import { BillingPage, CheckoutBody } from '#edge/schemas/billing';

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
