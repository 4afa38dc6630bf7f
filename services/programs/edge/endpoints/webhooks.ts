/* Webhook endpoints of an account: where the service sends the events of its instances. */
import type { z } from 'zod';
import { endpoint, type PathId } from '#edge/endpoints/endpoint';
import { bitsOf, USUAL_TYPES } from '#edge/endpoints/events';
import { dataOf, listOf } from '#edge/schemas/answers';
import {
  ChangeWebhook,
  CreateWebhook,
  DeletedWebhook,
  RedeliverBody,
  Redelivered,
  Webhook,
  WebhookAttempt,
  WebhookDeliveries,
  WebhookWithSecret,
} from '#edge/schemas/webhooks';
import type { AccountWebhooks } from '#edge/serve/webhooks';
import { invalid } from '#errors/fault';
import type { WebhookSettings } from '#grpc/engine-messages';
import { urlProblem } from '#webhooks/endpoint';

const UNKNOWN_WEBHOOK = 'whk_00000000000000ff';

/** Path id of a webhook endpoint. */
const WEBHOOK_ID: PathId = {
  description: 'Id of a webhook endpoint.',
  schema: {
    type: 'string',
    minLength: UNKNOWN_WEBHOOK.length,
    maxLength: UNKNOWN_WEBHOOK.length,
    pattern: '^whk_[0-9a-f]{16}$',
  },
  unknown: UNKNOWN_WEBHOOK,
};

const FIELD_REFUSALS = [
  ...(['too_short', 'too_long', 'out_of_range', 'unknown_value'] as const),
  'endpoint_refused' as const,
];

/** Settings of a body. Throws `endpoint_refused` for an address that cannot be used. */
function settingsOf(
  body: z.output<typeof ChangeWebhook>,
  { isInternalAllowed }: AccountWebhooks,
): WebhookSettings {
  const { url, description, event_types: types, max_batch: rowsMax, is_paused: isPaused } = body;
  const problem = url === undefined ? undefined : urlProblem(url, isInternalAllowed);
  if (problem !== undefined) throw invalid('endpoint_refused', 'url', `url: ${problem}`);
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...(types === undefined ? {} : { types: bitsOf(types) }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
    ...(isPaused === undefined ? {} : { isPaused }),
  };
}

/** Endpoint `POST /webhooks`. */
export const createWebhook = endpoint({
  name: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
  tag: 'Webhooks',
  summary: 'Add a webhook endpoint',
  description:
    'From now on, the service sends the events of the account to `url`, as HTTP POST with a JSON ' +
    'body: `{"type":"events","timestamp":…,"data":[…]}`, with events as in `GET /events`. Events ' +
    'of one instance arrive in order, at least once. Messages are signed as in Standard Webhooks ' +
    '(`webhook-id`, `webhook-timestamp`, `webhook-signature`) with the `secret`, which only this ' +
    'answer shows.\n\n' +
    'An answer with a status 2xx within 10 s is a success. After any other outcome the message ' +
    'is sent again, for about three days; only later events of the same instances wait. Then its ' +
    'events are listed as failed, and the next message about the instance has ' +
    '`"follows_gap":true`. The status 410 pauses the endpoint at once, and three days without a ' +
    'success pause it too.\n\n' +
    '`url` must use https and port 443, and lead to public addresses. An account has at most 20 ' +
    'endpoints.',
  scope: 'full',
  success: 201,
  body: CreateWebhook,
  response: dataOf(WebhookWithSecret),
  refusals: ['missing_field', ...FIELD_REFUSALS, 'webhook_limit'],
  auditedAs: 'webhook.create',
  handler: {
    kind: 'account',
    answer: async ({ body }, caller, { webhooks }) => {
      const given = { description: '', event_types: [...USUAL_TYPES], max_batch: 1, ...body };
      return { data: await webhooks.create(caller, settingsOf(given, webhooks)) };
    },
    locationOf: (answer) => `/webhooks/${(answer as { data: { id: string } }).data.id}`,
  },
});

/** Endpoint `GET /webhooks`. */
const listWebhooks = endpoint({
  name: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  tag: 'Webhooks',
  summary: 'List the webhook endpoints',
  description: 'All webhook endpoints of the account, oldest first.',
  scope: 'read',
  response: listOf(Webhook),
  examples: [{ summary: 'the endpoints' }],
  handler: {
    kind: 'account',
    answer: async (_, caller, { webhooks }) => {
      const data = await webhooks.list(caller);
      return { data, pagination: { total: data.length } };
    },
  },
});

/** Endpoint `GET /webhooks/{id}`. */
const getWebhook = endpoint({
  name: 'getWebhook',
  method: 'GET',
  path: '/webhooks/:id',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Get a webhook endpoint',
  description: 'The settings of a webhook endpoint, and how far its deliveries are.',
  scope: 'read',
  response: dataOf(Webhook),
  examples: [{ summary: 'an endpoint' }],
  handler: {
    kind: 'account',
    answer: async ({ id }, caller, { webhooks }) => ({
      data: await webhooks.read(caller, id, 'read'),
    }),
  },
});

/** Endpoint `PATCH /webhooks/{id}`. */
export const updateWebhook = endpoint({
  name: 'updateWebhook',
  method: 'PATCH',
  path: '/webhooks/:id',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Change, pause or resume a webhook endpoint',
  description:
    'Changes the given settings. A paused endpoint keeps its position in the log. After ' +
    '`"is_paused": false` it gets the events since then, as far as they are still kept.',
  scope: 'full',
  body: ChangeWebhook,
  response: dataOf(Webhook),
  refusals: FIELD_REFUSALS,
  auditedAs: 'webhook.update',
  handler: {
    kind: 'account',
    answer: async ({ id, body }, caller, { webhooks }) => ({
      data: await webhooks.change(caller, id, settingsOf(body, webhooks)),
    }),
  },
});

/** Endpoint `DELETE /webhooks/{id}`. */
export const deleteWebhook = endpoint({
  name: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/:id',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description: 'Nothing is sent to the endpoint from now on. A message under way may still arrive.',
  scope: 'full',
  response: dataOf(DeletedWebhook),
  auditedAs: 'webhook.delete',
  handler: {
    kind: 'account',
    answer: async ({ id }, caller, { webhooks }) => ({ data: await webhooks.remove(caller, id) }),
  },
});

/** Endpoint `POST /webhooks/{id}/rotate`. */
export const rotateWebhook = endpoint({
  name: 'rotateWebhook',
  method: 'POST',
  path: '/webhooks/:id/rotate',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Replace the secret of a webhook endpoint',
  description:
    'Creates a new secret, which only this answer shows. For a day, messages have a signature of ' +
    'the new and of the old secret.',
  scope: 'full',
  response: dataOf(WebhookWithSecret),
  auditedAs: 'webhook.rotate',
  handler: {
    kind: 'account',
    answer: async ({ id }, caller, { webhooks }) => ({ data: await webhooks.rotate(caller, id) }),
  },
});

/** Endpoint `POST /webhooks/{id}/test`. */
export const testWebhook = endpoint({
  name: 'testWebhook',
  method: 'POST',
  path: '/webhooks/:id/test',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Send a test message',
  description:
    'Sends one signed message with the type `test` and without events, also to a paused ' +
    'endpoint, and returns the outcome after at most 8 s. The message is not repeated.',
  scope: 'full',
  response: dataOf(WebhookAttempt),
  handler: {
    kind: 'account',
    answer: async ({ id }, caller, { webhooks }) => ({
      data: await webhooks.read(caller, id, 'test'),
    }),
  },
});

/** Endpoint `GET /webhooks/{id}/deliveries`. */
export const listDeliveries = endpoint({
  name: 'listDeliveries',
  method: 'GET',
  path: '/webhooks/:id/deliveries',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'List the last deliveries of a webhook endpoint',
  description:
    'The last attempts, and the changes that were given up. The newest 20 attempts have the ' +
    'bodies of request and response. Attempts are kept in memory only.',
  scope: 'read',
  response: dataOf(WebhookDeliveries),
  examples: [{ summary: 'one delivery' }],
  handler: {
    kind: 'account',
    answer: async ({ id }, caller, { webhooks }) => ({
      data: await webhooks.read(caller, id, 'readDeliveries'),
    }),
  },
});

/** Endpoint `POST /webhooks/{id}/redeliver`. */
export const redeliverChanges = endpoint({
  name: 'redeliverChanges',
  method: 'POST',
  path: '/webhooks/:id/redeliver',
  pathId: WEBHOOK_ID,
  tag: 'Webhooks',
  summary: 'Deliver changes again',
  description:
    'Sends changes once more, each in its own message with the usual attempts. Positions are those ' +
    'of failed changes, and the numbers in a `webhook-id`. The changes must be in the log still: ' +
    'it keeps 7 days. 409 if the endpoint is paused.',
  scope: 'full',
  body: RedeliverBody,
  response: dataOf(Redelivered),
  refusals: ['missing_field', 'too_short', 'too_long', 'out_of_range'],
  refusalCodes: ['conflict'],
  auditedAs: 'webhook.redeliver',
  handler: {
    kind: 'account',
    answer: async ({ id, body }, caller, { webhooks }) => ({
      data: await webhooks.redeliver(caller, id, body.positions),
    }),
  },
});

/** All endpoints about webhooks. */
export const WEBHOOK_ENDPOINTS = [
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  redeliverChanges,
] as const;
