import type {
  AccountEvent,
  ChangeWebhook,
  CreateWebhook,
  EventsPagination,
  Webhook,
  WebhookAttempt,
  WebhookDeliveries,
  WebhookWithSecret,
} from '#clients/typescript/src/models';
import { idIn, post, send } from '#pages/shell/api';

/** Marks a request that no person started, so that the request does not extend the session. */
const UNATTENDED = { 'x-unattended': 'true' };

/** Page of the log of the account. */
export type EventsPage = {
  readonly data: readonly AccountEvent[];
  readonly pagination: EventsPagination;
};

const read = async <Data>(path: string, isUnattended: boolean): Promise<Data> =>
  (await send<{ data: Data }>('GET', path, undefined, isUnattended ? UNATTENDED : {})).data;

const at = (id: string) => `/webhooks/${idIn(id)}`;

/**
 * Calls about webhook endpoints and the log of the account. Requests and answers are the same as
 * under `/v1`. A refused call throws `Refused`.
 */
export const webhookApi = {
  list: () => read<readonly Webhook[]>('/webhooks', false),
  one: (id: string, isUnattended = false) => read<Webhook>(at(id), isUnattended),
  deliveries: (id: string, isUnattended = false) =>
    read<WebhookDeliveries>(`${at(id)}/deliveries`, isUnattended),
  create: (wanted: CreateWebhook) => post<WebhookWithSecret>('/webhooks', wanted),
  change: async (id: string, change: ChangeWebhook) =>
    (await send<{ data: Webhook }>('PATCH', at(id), change)).data,
  remove: (id: string) => send('DELETE', at(id)),
  rotate: (id: string) => post<WebhookWithSecret>(`${at(id)}/rotate`),
  test: (id: string) => post<WebhookAttempt>(`${at(id)}/test`),
  redeliver: (id: string, positions: readonly number[]) =>
    post(`${at(id)}/redeliver`, { positions }),
  events: (query: URLSearchParams) => send<EventsPage>('GET', `/events?${query}`),
};
