import { z } from 'zod';
import { Count, named, Time } from '#edge/schemas/answers';
import { textOf } from '#edge/schemas/instance';
import { REDELIVERIES_MAX } from '#grpc/engine-messages';
import { TRANSITIONS } from '#identity/transitions';
import { ROWS_PER_MESSAGE_MAX, URL_LENGTH_MAX } from '#webhooks/endpoint';

/** Maximum description length, in code points. */
const DESCRIPTION_MAX = 200;

const Url = textOf(1, URL_LENGTH_MAX);
const Description = textOf(0, DESCRIPTION_MAX);
const EventTypes = z.array(z.enum(TRANSITIONS)).min(1).max(TRANSITIONS.length);
const MaxBatch = z
  .int()
  .min(1)
  .max(ROWS_PER_MESSAGE_MAX)
  .describe('Maximum number of changes in one message.');

/** Body for `POST /webhooks`. */
export const CreateWebhook = z
  .strictObject({
    url: Url,
    description: Description.optional().meta({ default: '' }),
    event_types: EventTypes.optional().describe(
      'Default: all types except `contract_changed` and `mode_changed`.',
    ),
    max_batch: MaxBatch.optional().meta({ default: 1 }),
  })
  .meta({
    id: 'CreateWebhook',
    examples: [
      { url: 'https://app.example/hooks/identity', event_types: ['created', 'stress_changed'] },
    ],
  });

/** Body for `PATCH /webhooks/{id}`. */
export const ChangeWebhook = z
  .strictObject({
    url: Url.optional(),
    description: Description.optional(),
    event_types: EventTypes.optional(),
    max_batch: MaxBatch.optional(),
    is_paused: z.boolean().optional().describe('`false` resumes an endpoint that was paused.'),
  })
  .meta({ id: 'ChangeWebhook', examples: [{ is_paused: false }] });

/** Body for `POST /webhooks/{id}/redeliver`. */
export const RedeliverBody = z
  .strictObject({ positions: z.array(Count).min(1).max(REDELIVERIES_MAX) })
  .meta({ id: 'Redeliver', examples: [{ positions: [41] }] });

const WebhookId = z.string().regex(/^whk_[0-9a-f]{16}$/);

/** Webhook endpoint in an answer. */
export const Webhook = named('Webhook', {
  id: WebhookId,
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.enum(TRANSITIONS)),
  max_batch: Count,
  paused: z
    .enum(['requested', 'failing', 'removed'])
    .nullable()
    .describe('Why nothing is sent: a request, three days of failures, or status 410.'),
  failing_since: Time.nullable().describe('First failure since the last success.'),
  changes_behind: Count.describe(
    'Changes after the position of the endpoint, and changes that wait for another attempt.',
  ),
  changes_failed: Count.describe('Changes that were given up, at most 200.'),
  old_secret_until: Time.nullable().describe('End of the overlap after a rotation.'),
  created_at: Time,
});

/** New webhook endpoint, or an endpoint with a new secret. */
export const WebhookWithSecret = named('WebhookWithSecret', {
  ...Webhook.shape,
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{43}=$/)
    .describe('Verifies messages. Shown only in this answer.'),
});

/** Deleted webhook endpoint. */
export const DeletedWebhook = named('DeletedWebhook', { id: WebhookId, deleted: z.literal(true) });

/** Body of an attempt. */
const WebhookRequest = named('WebhookRequest', {
  body: z.string().describe('Body that was sent, at most its first 4,096 characters.'),
  is_truncated: z.boolean().describe('Whether the body is longer.'),
});

/** Answer of an endpoint. */
const WebhookResponse = named('WebhookResponse', {
  status: z.int(),
  content_type: z.string().optional().describe('Empty: the endpoint sent none.'),
  body: z
    .string()
    .optional()
    .describe(
      'First 1,024 bytes of the body, as text of unknown content. Absent: no longer kept, or the ' +
        'endpoint is in an internal network.',
    ),
  is_truncated: z.boolean().optional().describe('Whether the body is longer.'),
});

/** An attempt to deliver a message. */
export const WebhookAttempt = named('WebhookAttempt', {
  message_id: z.string().describe('Header `webhook-id`, the same in every attempt.'),
  attempted_at: Time,
  duration_ms: Count,
  events: Count,
  positions: z
    .array(Count)
    .optional()
    .describe('Positions of the changes in the log of the account, for a redelivery.'),
  failure: z.string().nullable().describe('`null`: delivered. Otherwise such as `status 500`.'),
  request: WebhookRequest.optional().describe('Absent: no longer kept.'),
  response: WebhookResponse.optional().describe('Absent: the endpoint did not answer.'),
});

/** Answer to `GET /webhooks/{id}/deliveries`. */
export const WebhookDeliveries = named('WebhookDeliveries', {
  attempts: z.array(WebhookAttempt).describe('At most 100 attempts of this node, newest first.'),
  failed: z
    .array(
      named('FailedChange', {
        position: Count.describe('Position in the log of the account, for a redelivery.'),
        instance_id: z.string(),
        failed_at: Time,
        failure: z.string(),
      }),
    )
    .describe('Changes that were given up, newest first.'),
});

/** Answer to `POST /webhooks/{id}/redeliver`. */
export const Redelivered = named('Redelivered', { changes: Count });
