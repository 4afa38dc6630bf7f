import { z } from 'zod';

/*
 * JSON messages for billing calls from an edge to a limiter. An edge has no stores. Both ends use
 * these schemas.
 */

/** Maximum notification size, in bytes. Stripe's notifications have a few kilobytes. */
export const NOTIFICATION_BYTES_MAX = 262_144;

/**
 * Maximum URL or plan length in these calls, in characters. The limiter enforces the smaller limits
 * for callers.
 */
const TEXT_LENGTH_MAX = 32 * 1_024;

const text = z.string().max(TEXT_LENGTH_MAX);

const id = z.string().min(1).max(128);

const Origin = z.object({
  address: z.string().max(64).optional(),
  requestId: z.string().max(128).optional(),
});

/**
 * Requester for the audit trail: a key, or a member with a session. Includes the address and the
 * request id.
 */
const Buyer = z.union([Origin.extend({ keyId: id }), Origin.extend({ userId: id, sessionId: id })]);

/** Requester for the audit trail. */
export type Buyer = z.infer<typeof Buyer>;

/** Body for `billing.checkout`; the answer is a page URL. */
export const CheckoutQuestion = z.object({
  by: Buyer,
  plan: text,
  successUrl: text,
  cancelUrl: text,
});

/** A request for a checkout page. */
export type CheckoutQuestion = z.infer<typeof CheckoutQuestion>;

/** Body for `billing.portal`; the answer is a page URL. */
export const PortalQuestion = z.object({ by: Buyer, returnUrl: text });

/** A request for a portal page. */
export type PortalQuestion = z.infer<typeof PortalQuestion>;

/** Body for `billing.standing`. */
export const StandingQuestion = z.object({});

const Time = z.int().min(0);
const PlanName = z.enum(['free', 'indie', 'pro', 'enterprise']);

/** Answer to `billing.standing`: `BillingStanding`. */
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

/** Answer to `billing.checkout` and `billing.portal`. */
export const LinkAnswer = z.object({ url: z.string() });

/** Body for `billing.notified`: the received bytes and the signature header. */
export const NotifiedQuestion = z.object({
  rawBody: z.base64().max(4 * Math.ceil(NOTIFICATION_BYTES_MAX / 3)),
  signature: text,
});

/** A notification with its signature. */
export type NotifiedQuestion = z.infer<typeof NotifiedQuestion>;

/** Answer to `billing.notified`. */
export const NotifiedAnswer = z.object({ outcome: z.string() });

/**
 * Routing key of notifications. It replaces the account id and does not have the form of an account
 * id. The account in a notification is untrusted until the signature is checked. Therefore a single
 * limiter takes all notifications.
 */
export const NOTIFICATIONS_ID = 'billing.notifications';
