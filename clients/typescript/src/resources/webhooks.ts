import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import { segmentOf } from '../instance-path.ts';
import type {
  ChangeWebhook,
  CreateWebhook,
  DeletedWebhook,
  Redelivered,
  Webhook,
  WebhookAttempt,
  WebhookDeliveries,
  WebhookWithSecret,
  WholePagination,
} from '../models.ts';
import { type Page, pageOf } from '../pages.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/**
 * Webhook endpoints: where the service sends the events of the account. Verify messages with a
 * library of Standard Webhooks, such as `standardwebhooks`. Changes are retried only if the failed
 * attempt certainly changed nothing.
 */
export class Webhooks {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Adds an endpoint. Only this result has its `secret`. Throws `InvalidRequestError` with reason
   * `endpoint_refused` for an address that cannot be used, and `ForbiddenError` with reason
   * `webhook_limit` above 20 endpoints.
   */
  async create(
    fields: CreateWebhook,
    options: CallOptions = {},
  ): Promise<Result<WebhookWithSecret>> {
    return await this.#change('POST', '/webhooks', options, fields);
  }

  /** All endpoints of the account, oldest first. */
  async list(options: CallOptions = {}): Promise<Page<Webhook, WholePagination>> {
    const call = { method: 'GET', path: '/webhooks', options } as const;
    const answer = await this.#caller.call({ ...call, repeatable: 'always', isChange: false });
    return pageOf(answer, () => undefined);
  }

  /** Reads an endpoint. Throws `NotFoundError` if the account has no such endpoint. */
  async get(id: string, options: CallOptions = {}): Promise<Result<Webhook>> {
    return await this.#read(pathOf(id), options);
  }

  /** Changes an endpoint. `is_paused: false` resumes it. */
  async update(
    id: string,
    fields: ChangeWebhook,
    options: CallOptions = {},
  ): Promise<Result<Webhook>> {
    return await this.#change('PATCH', pathOf(id), options, fields);
  }

  /**
   * Deletes an endpoint. If an attempt has an unknown outcome and the retry returns 404, the call
   * succeeds (`status` is then 404).
   */
  async delete(id: string, options: CallOptions = {}): Promise<Result<DeletedWebhook>> {
    const answer = await this.#caller.call({
      ...{ method: 'DELETE', path: pathOf(id), options },
      ...{ repeatable: 'until_deleted', isChange: true },
    });
    const result = resultOf<DeletedWebhook | undefined>(answer);
    return { ...result, data: result.data ?? { id, deleted: true } };
  }

  /** Replaces the secret. The old secret signs for another day. Only this result has the secret. */
  async rotate(id: string, options: CallOptions = {}): Promise<Result<WebhookWithSecret>> {
    return await this.#change('POST', pathOf(id, '/rotate'), options);
  }

  /** Sends a test message, and returns the outcome after at most 8 s. */
  async test(id: string, options: CallOptions = {}): Promise<Result<WebhookAttempt>> {
    return await this.#change('POST', pathOf(id, '/test'), options);
  }

  /** The last attempts, and the changes that were given up. */
  async deliveries(id: string, options: CallOptions = {}): Promise<Result<WebhookDeliveries>> {
    return await this.#read(pathOf(id, '/deliveries'), options);
  }

  /** Delivers changes once more. Throws `ConflictError` if the endpoint is paused. */
  async redeliver(
    id: string,
    positions: readonly number[],
    options: CallOptions = {},
  ): Promise<Result<Redelivered>> {
    return await this.#change('POST', pathOf(id, '/redeliver'), options, { positions });
  }

  async #read<Data>(path: string, options: CallOptions): Promise<Result<Data>> {
    const call = { method: 'GET', path, options } as const;
    return resultOf(await this.#caller.call({ ...call, repeatable: 'always', isChange: false }));
  }

  async #change<Data>(
    method: 'POST' | 'PATCH',
    path: string,
    options: CallOptions,
    body?: object,
  ): Promise<Result<Data>> {
    return resultOf(
      await this.#caller.call({
        ...{ method, path, options, ...(body === undefined ? {} : { body }) },
        ...{ repeatable: 'if_nothing_happened', isChange: true },
      }),
    );
  }
}

function pathOf(id: string, below = ''): string {
  return `/webhooks/${segmentOf(id)}${below}`;
}
