import { endpoint } from '#edge/endpoint';
import { BillingPage, PortalBody } from '#edge/schemas/billing';

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
