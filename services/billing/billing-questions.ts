import { z } from 'zod';

/* What an edge, which has no stores, asks a limiter of billing, as JSON between them: both ends read it. */

/** Bytes of a notification; Stripe's own are some kilobytes. Chosen. */
export const NOTIFICATION_BYTES_MAX = 262_144;

/** Characters of a URL or a plan on this way: what callers may send is less, and checked behind it. */
const TEXT_LENGTH_MAX = 32 * 1_024;

const text = z.string().max(TEXT_LENGTH_MAX);

const id = z.string().min(1).max(128);

const Origin = z.object({
  address: z.string().max(64).optional(),
  requestId: z.string().max(128).optional(),
});

/** Who asks, for the audit trail: a key or a member with a session, the address, and the request. */
const Buyer = z.union([Origin.extend({ keyId: id }), Origin.extend({ userId: id, sessionId: id })]);

/** The same as a type. */
export type Buyer = z.infer<typeof Buyer>;

/** Body of `billing.checkout`; the answer is a page. */
export const CheckoutQuestion = z.object({
  by: Buyer,
  plan: text,
  successUrl: text,
  cancelUrl: text,
});

/** The same as a type. */
export type CheckoutQuestion = z.infer<typeof CheckoutQuestion>;

/** Body of `billing.portal`; the answer is a page. */
export const PortalQuestion = z.object({ by: Buyer, returnUrl: text });

/** The same as a type. */
export type PortalQuestion = z.infer<typeof PortalQuestion>;

/** Body of `billing.standing`. */
export const StandingQuestion = z.object({});

const Time = z.int().min(0);
const PlanName = z.enum(['free', 'indie', 'pro', 'enterprise']);

/** The answer to it: `BillingStanding`. */
export const StandingAnswer = z.object({
  provider: z.string().optional(),
  plan: PlanName,
  later: z.object({ plan: PlanName, atMs: Time }).optional(),
  subscription: z
    .object({
      plan: z.enum(['indie', 'pro']),
      status: z.enum(['active', 'overdue', 'inactive', 'ended']),
      periodEndsAtMs: Time,
      endsAtMs: Time.optional(),
      failed: z.object({ sinceMs: Time, keptUntilMs: Time }).optional(),
    })
    .optional(),
  maySubscribe: z.boolean(),
  mayManage: z.boolean(),
});

/** The answer to `billing.checkout` and `billing.portal`. */
export const LinkAnswer = z.object({ url: z.string() });

/** Body of `billing.notified`: the bytes as they came, and the header that signs them. */
export const NotifiedQuestion = z.object({
  rawBody: z.base64().max(4 * Math.ceil(NOTIFICATION_BYTES_MAX / 3)),
  signature: text,
});

/** The same as a type. */
export type NotifiedQuestion = z.infer<typeof NotifiedQuestion>;

/** The answer to it. */
export const NotifiedAnswer = z.object({ outcome: z.string() });

/**
 * What stands for the account in the routing of a notification, which names none that can be believed
 * before its signature is checked: one limiter takes all of them, whichever it is. No id of an account
 * is like it.
 */
export const NOTIFICATIONS_ID = 'billing.notifications';
