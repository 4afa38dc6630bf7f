import { z } from 'zod';
import { filled, list, whole } from '#platform/variable-values';

/** One price of a plan, by its id at the provider. */
const PLAN_PRICE = /^(indie|pro)=([\w-]{1,100})$/;

/** Prices of both plans: each sold once, and remembered for as long as a subscription has it. Chosen. */
const PRICES_MAX = 100;

const WRONG_PRICES = `must be plan=price of indie and pro, with commas between, ${PRICES_MAX} at most and no price twice`;

const prices = z.string().transform((text, context) => {
  const found = text.split(',').map((part) => PLAN_PRICE.exec(part) ?? []);
  const read = found.map(([, plan = '', price = '']) => ({ plan: plan as 'indie' | 'pro', price }));
  const plans = new Set(read.map(({ plan }) => plan));
  const ids = new Set(read.map(({ price }) => price));
  if (plans.size === 2 && !ids.has('') && ids.size === read.length && ids.size <= PRICES_MAX) {
    return read;
  }
  context.addIssue(WRONG_PRICES);
  return z.NEVER;
});

/** The variables of billing, which limiters and standalone processes read. Source: decision 248. */
export const BILLING_VARIABLES = {
  SERVICE_BILLING_PROVIDER: z
    .enum(['none', 'local', 'stripe'])
    .default('none')
    .describe(
      'Who plans are bought from (docs/billing.md). `local` takes no money and is for tests; `none`: an operator sets plans.',
    ),
  SERVICE_BILLING_API_KEY: z
    .string()
    .regex(/^(?:sk|rk)_(?:test|live)_\w{3,250}$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .describe("The service's key at Stripe: `sk_…`, or better `rk_…` that may do what it needs."),
  SERVICE_BILLING_API_KEY_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_API_KEY`, instead of that variable.'),
  SERVICE_BILLING_WEBHOOK_SECRET: list(z.string().min(16, 'must have at least 16 characters'))
    .refine((secrets) => secrets.length <= 2, 'must be one secret, or two with a comma between')
    .optional()
    .describe(
      'What the provider signs notifications with, `whsec_…`; two with a comma between while it is changed, or on two lines of its file.',
    ),
  SERVICE_BILLING_WEBHOOK_SECRET_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_WEBHOOK_SECRET`, instead of that variable.'),
  SERVICE_BILLING_PRICES: prices
    .optional()
    .describe(
      'Prices at Stripe by plan, as `indie=price_1,pro=price_2`. The first of a plan is sold; further ones are those that older subscriptions still have.',
    ),
  SERVICE_BILLING_GRACE_DAYS: whole
    .pipe(z.number().max(90))
    .default(7)
    .describe('Days that a plan stays when its payment fails, from the first failure on.'),
} as const;
