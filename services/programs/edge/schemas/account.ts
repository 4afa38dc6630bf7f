import { z } from 'zod';
import { AuditEntry, AuditLine } from '#audit/entry';
import { AUDIT_CURSOR, type AuditPage, type PageQuestion } from '#audit/page';
import { PAGE_ENTRIES_MAX } from '#audit/trail-bounds';
import { integer } from '#edge/schemas/instance';

const { target, outcome } = AuditEntry.shape;

/** Filter by action: `key` also matches all actions that start with `key.`, like `key.` itself. */
const action = z
  .string()
  .max(48)
  .regex(/^[a-z]+(?:[._][a-z]+)*\.?$/, 'must be words such as key.create')
  .transform((words) => words.replace(/\.$/, ''))
  .meta({ type: 'string' });

/** A time in a query. Parsed to Unix milliseconds. */
const time = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-25T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .optional()
  .meta({ type: 'string', format: 'date-time' });

/** Query for `GET /audit`. Source: decision 249. */
export const AuditQuery = z.strictObject({
  limit: integer(1, PAGE_ENTRIES_MAX, 20),
  cursor: z.string().regex(AUDIT_CURSOR, 'must be a next_cursor of a previous page').optional(),
  action: action.optional(),
  actor: z.string().min(1).max(128).optional(),
  target,
  outcome: outcome.optional(),
  from: time,
  until: time,
});

/**
 * A value in an audit line's details. `z.json()` would create a recursive schema without a name.
 */
const JsonValue = z.unknown().meta({ id: 'JsonValue', description: 'Any JSON value.' });

const ShownDetails = z.record(z.string(), JsonValue).optional();

/** An audit line as hashed, but without account and link to the previous line. */
const AuditAnswerLine = AuditLine.omit({ account_id: true, previous: true })
  .extend({
    actor: AuditEntry.shape.actor.strict(),
    before: ShownDetails,
    after: ShownDetails,
  })
  .strict()
  .meta({ id: 'AuditLine' });

/** Answer to `GET /audit`. */
export const AuditAnswer = z.strictObject({
  data: z.array(AuditAnswerLine),
  pagination: z.strictObject({
    limit: z.int().min(1),
    next_cursor: z
      .string()
      .regex(AUDIT_CURSOR)
      .nullable()
      .describe('The `cursor` of the next page, also if this page is empty. `null`: no next page.'),
  }),
});

/** Answers an audit query with the page that `read` returns. Rejects as `read` does. */
export async function auditAnswer(
  query: z.output<typeof AuditQuery>,
  read: (question: PageQuestion) => Promise<AuditPage>,
): Promise<{ readonly data: readonly object[]; readonly pagination: object }> {
  const { limit, cursor: before, from: fromMs, until: untilMs, ...filter } = query;
  const { lines, next } = await read({ ...filter, fromMs, untilMs, before, limit });
  const data = lines.map(({ account_id: _, previous: __, ...shown }) => shown);
  return { data, pagination: { limit, next_cursor: next ?? null } };
}

/** Maximum URL length in UTF-16 units, supported by browsers and proxies. */
const URL_LENGTH_MAX = 2_048;

/** Maximum plan name length in UTF-16 units. */
const PLAN_LENGTH_MAX = 64;

/** URL for the person's browser. Billing decides which URLs are allowed. */
const callerUrl = z
  .string()
  .max(URL_LENGTH_MAX)
  .describe('An https URL without a user name. http is allowed only for this machine.');

/** Body for `POST /billing/checkout`. */
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

/** Body for `POST /billing/portal`. */
export const PortalBody = z
  .strictObject({ return_url: callerUrl })
  .meta({ examples: [{ return_url: 'https://app.example/billing' }] });

/** Answer to `POST /billing/checkout` and `POST /billing/portal`. */
export const BillingPage = z.strictObject({
  data: z.strictObject({ url: z.url().describe('URL of a page of the payment provider.') }),
});

/** Notification body, only for the API document. The signature authenticates the raw bytes. */
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

/** Answer to `POST /billing/notifications`. */
export const NotificationAnswer = z.strictObject({ received: z.literal(true) });
