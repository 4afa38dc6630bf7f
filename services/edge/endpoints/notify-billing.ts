import { NOTIFICATION_BYTES_MAX } from '#billing/billing-questions';
import { endpoint } from '#edge/endpoint';
import { NotificationAnswer, NotificationBody } from '#edge/schemas/billing';

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
