import assert from 'node:assert/strict';
import type { ExampleReply, ExampleService } from '#deploy/apidoc/example-service';
import { type ExampleAnswer, exampleBodiesOf } from '#edge/document/openapi';
import { ENDPOINTS } from '#edge/endpoints/all';
import { createCheckout, notifyBilling, openPortal } from '#edge/endpoints/billing';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { listEvents } from '#edge/endpoints/events';
import { processFleet } from '#edge/endpoints/fleet';
import {
  createInstance,
  deleteInstance,
  resetInstance,
  updateInstance,
} from '#edge/endpoints/instances';
import {
  processBatch,
  processObservation,
  simulateObservations,
} from '#edge/endpoints/observations';
import { forkInstance } from '#edge/endpoints/past';
import { getHistory } from '#edge/endpoints/reads';
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  redeliverChanges,
  rotateWebhook,
  testWebhook,
  updateWebhook,
} from '#edge/endpoints/webhooks';
import { FEED_AGE_MS } from '#storage/ports/feeds';
import { ENDPOINTS_MAX } from '#webhooks/endpoint';

/** Idempotency key in the format of our clients: a UUIDv7. */
const KEY = { 'idempotency-key': '019bc155-2a00-7c3e-9a41-5d2f08b6e711' };

const STRESSFUL = { mode_target: 'STRESS_RESPONSE', signal_strength: 1, context: { turn: 17 } };
const CALM = { mode_target: 'CONNECTION', signal_strength: 0.6 };

/** Id of no instance. */
const UNKNOWN = 'inst_00000000000000ff';

/** Number of stressful observations, enough to cause drift events. */
const STRESSFUL_COUNT = 12;

/** Interval of stressful observations, and interval of the other requests, in milliseconds. */
const STRESSFUL_MS = 5_000;
const CALM_MS = 60_000;

/** An hour, in milliseconds. */
const HOUR_MS = 60 * 60 * 1_000;

/** Parts of a request besides its endpoint. */
type Parts = {
  readonly id?: string;
  readonly query?: string;
  /** Body in place of the example in the endpoint's schema. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

/**
 * Requests of an agent over a short day: the successes of every endpoint, and refusals that need an
 * instance with history. `#show` stores answers as examples.
 */
export class ExampleDay {
  readonly answers: ExampleAnswer[] = [];
  readonly #service: ExampleService;
  readonly #authorization: string;

  /** `authorization` is the `Authorization` header of an account's key. */
  constructor(service: ExampleService, authorization: string) {
    this.#service = service;
    this.#authorization = authorization;
  }

  /** Sends the requests from the creation of an instance to its deletion. */
  async runDay(): Promise<void> {
    const { etag, body } = await this.#show(createInstance, 201, 'a new instance');
    const { id } = body.data;
    await this.#observe(id);
    await this.#service.recorded();
    const webhook = await this.#deliver();
    await this.#read(id, webhook);
    await this.#changeWebhook(webhook);
    await this.#change(id, etag);
  }

  /** Sends the requests of an account with one cycle per month. */
  async runOneCycle(): Promise<void> {
    const { id } = (await this.#ask(createInstance)).body.data;
    await this.#ask(processObservation, { id });
    for (const endpoint of [processObservation, processBatch]) {
      await this.#show(endpoint, 429, 'no cycle left this month', { id });
    }
    const fleet = { body: { observations: [{ instance_id: id, ...CALM }] } };
    await this.#show(processFleet, 429, 'no cycle left this month', fleet);
  }

  /** Sends the requests of an account that reads its events too late. */
  async readLate(): Promise<void> {
    await this.#ask(createInstance);
    await this.#service.recorded();
    const { pagination } = (await this.#ask(listEvents, {})).body;
    await this.#ask(createInstance);
    await this.#service.recorded();
    this.#service.wait(FEED_AGE_MS + HOUR_MS);
    const query = `?cursor=${pagination.next_cursor}`;
    await this.#show(listEvents, 410, 'the events after the cursor are gone', { query });
  }

  /** Sends the requests of an account that buys a plan. */
  async buy(accountId: string): Promise<void> {
    await this.#show(createCheckout, 200, 'a checkout page', {});
    await this.#notify(notificationOf(accountId));
    await this.#show(openPortal, 200, 'a portal page', {});
    const [example] = exampleBodiesOf(notifyBilling);
    this.#keep(notifyBilling, 200, 'received', await this.#notify(example));
  }

  #notify(event: unknown): Promise<ExampleReply> {
    const body = JSON.stringify(event);
    const headers = { 'stripe-signature': this.#service.signatureOf(body) };
    return this.#ask(notifyBilling, { body, headers });
  }

  async #observe(id: string): Promise<void> {
    await this.#show(processObservation, 200, 'one cycle', { id });
    for (let i = 0; i < STRESSFUL_COUNT; i += 1) {
      this.#service.wait(STRESSFUL_MS);
      await this.#ask(processObservation, { id, body: STRESSFUL });
    }
    const strict = { id, headers: { prefer: 'handling=strict' } };
    for (const endpoint of [processObservation, processBatch]) {
      this.#keep(endpoint, 200, 'throttled: the previous state', await this.#ask(endpoint, { id }));
      const refused = await this.#ask(endpoint, strict);
      this.#keep(endpoint, 429, 'throttled, with Prefer: handling=strict', refused);
    }
    await this.#show(processBatch, 200, 'the state after the last observation', { id });
    const body = { observations: [CALM, CALM], include_intermediate: true };
    await this.#show(processBatch, 200, 'the state after each observation', { id, body });
    const observations = [
      { instance_id: id, ...CALM },
      { instance_id: UNKNOWN, ...CALM },
    ];
    await this.#show(processFleet, 200, 'one observation is refused', { body: { observations } });
    await this.#show(simulateObservations, 200, 'a preview of two observations', { id });
  }

  /** Sends the example requests that endpoints declare. */
  async #read(instance: string, webhook: string): Promise<void> {
    for (const endpoint of ENDPOINTS) {
      const id = endpoint.tag === 'Webhooks' ? webhook : instance;
      for (const { summary, ...parts } of endpoint.examples) {
        await this.#show(endpoint, endpoint.success, summary, { id, ...parts });
      }
    }
  }

  /** Renames, resets and deletes an instance; includes conflicting requests. */
  async #change(id: string, staleEtag: string): Promise<void> {
    await this.#show(forkInstance, 201, 'a new instance in the state after cycle 12', { id });
    const later = { id, body: { name: 'Ada', cycle: 1_000 } };
    await this.#show(forkInstance, 404, 'a cycle that does not exist', later);
    const stale = { id, headers: { 'if-match': staleEtag } };
    for (const endpoint of [updateInstance, resetInstance, deleteInstance]) {
      await this.#show(endpoint, 409, 'the instance has changed since this ETag', stale);
    }
    await this.#show(updateInstance, 200, 'the new name', { id });
    await this.#show(resetInstance, 200, 'the state after the reset', { id });
    const every = { id, query: '?generation=all&limit=1' };
    await this.#show(getHistory, 200, 'with ?generation=all&limit=1', every);
    await this.#show(deleteInstance, 200, 'deleted', { id });
    const keyed = await this.#ask(createInstance, { headers: KEY });
    await this.#ask(deleteInstance, { id: keyed.body.data.id });
    const deleted = 'the instance of this key was deleted';
    await this.#show(createInstance, 409, deleted, { headers: KEY });
  }

  /** Adds a webhook endpoint, and waits for a delivery. Returns the endpoint's id. */
  async #deliver(): Promise<string> {
    await this.#service.recorded();
    const made = await this.#show(createWebhook, 201, 'a new endpoint');
    const { id } = made.body.data;
    await this.#ask(createInstance);
    await this.#service.recorded();
    await this.#service.delivered(1);
    return id;
  }

  /** Tests, changes and deletes a webhook endpoint. */
  async #changeWebhook(id: string): Promise<void> {
    const [attempt] = (await this.#ask(listDeliveries, { id })).body.data.attempts;
    const body = { positions: [Number(attempt.message_id.split('-')[1])] };
    await this.#show(redeliverChanges, 200, 'one change', { id, body });
    await this.#show(testWebhook, 200, 'a test message', { id });
    await this.#show(rotateWebhook, 200, 'a new secret', { id });
    await this.#show(updateWebhook, 200, 'paused', { id, body: { is_paused: true } });
    await this.#show(redeliverChanges, 409, 'a paused endpoint', { id, body });
    const refused = { body: { url: 'https://10.0.0.1/hooks' } };
    await this.#show(createWebhook, 422, 'a private address', refused);
    for (let count = 1; count < ENDPOINTS_MAX; count += 1) await this.#ask(createWebhook);
    await this.#show(createWebhook, 403, 'too many endpoints');
    await this.#show(deleteWebhook, 200, 'deleted', { id });
  }

  /** Advances the clock, sends a request, and stores the answer as an example. */
  async #show(endpoint: Endpoint, status: number, summary: string, parts: Parts = {}) {
    this.#service.wait(CALM_MS);
    const reply = await this.#ask(endpoint, parts);
    this.#keep(endpoint, status, summary, reply);
    return reply;
  }

  #keep({ name }: Endpoint, status: number, summary: string, reply: ExampleReply): void {
    assert.equal(reply.status, status, `${name}, ${summary}: ${JSON.stringify(reply.body)}`);
    this.answers.push({ endpoint: name, status, summary, body: reply.body });
  }

  #ask(endpoint: Endpoint, parts: Parts = {}): Promise<ExampleReply> {
    const { id = '', query = '', body, headers } = parts;
    return this.#service.ask({
      method: endpoint.method,
      url: `${endpoint.path.replace(':id', id)}${query}`,
      body: body ?? exampleBodiesOf(endpoint)[0],
      headers: { authorization: this.#authorization, ...headers },
    });
  }
}

/** Event of a completed purchase. The event links the account to a customer of the provider. */
function notificationOf(accountId: string): object {
  return {
    id: 'evt_0',
    object: 'event',
    type: 'checkout.session.completed',
    created: 1,
    data: {
      object: {
        id: 'cs_0',
        object: 'checkout.session',
        mode: 'subscription',
        customer: 'cus_0',
        client_reference_id: accountId,
      },
    },
  };
}
