import { z } from 'zod';

/** Longest URL in UTF-16 units. Source: what browsers and proxies bear. */
const URL_LENGTH_MAX = 2_048;

/** Longest name of a plan in UTF-16 units. */
const PLAN_LENGTH_MAX = 64;

/** Where the person's browser goes; which of them are refused, billing decides. */
const callerUrl = z
  .string()
  .max(URL_LENGTH_MAX)
  .describe('An https address without a user name; http only on the machine itself.');

/** The body of `POST /billing/checkout`. */
export const CheckoutBody = z
  .strictObject({
    plan: z.string().max(PLAN_LENGTH_MAX).describe('`indie` or `pro`.'),
    success_url: callerUrl,
    cancel_url: callerUrl,
  })
  .meta({
    examples: [
      {
        plan: 'pro',
        success_url: 'https://app.example/billing/done',
        cancel_url: 'https://app.example/billing',
      },
    ],
  });

/** The body of `POST /billing/portal`. */
export const PortalBody = z
  .strictObject({ return_url: callerUrl })
  .meta({ examples: [{ return_url: 'https://app.example/billing' }] });

/** The answer to both. */
export const BillingPage = z.strictObject({
  data: z.strictObject({ url: z.url().describe('A page of the payment provider.') }),
});

/** The body of a notification, for the API document alone: what it says, its signature vouches for. */
export const NotificationBody = z
  .looseObject({ id: z.string(), type: z.string(), created: z.int() })
  .meta({
    examples: [
      {
        id: 'evt_1',
        object: 'event',
        type: 'checkout.session.completed',
        created: 1_768_478_400,
        data: {
          object: {
            id: 'cs_1',
            object: 'checkout.session',
            mode: 'subscription',
            customer: 'cus_1',
            client_reference_id: '4fK2mQ9xT7Lb',
          },
        },
      },
    ],
  });

/** The answer to a notification. */
export const NotificationAnswer = z.strictObject({ received: z.literal(true) });
