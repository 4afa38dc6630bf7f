import type { RequestMethod } from './calls/call.ts';
import type { ConditionalOptions } from './calls/call-options.ts';
import { Caller } from './calls/caller.ts';
import { type RequestOptions, type RequestResult, rawCall } from './calls/raw-request.ts';
import { type ClientOptions, settingsOf } from './client-options.ts';
import type { FleetObservation, ProcessedFleet } from './models.ts';
import { conditionalResultOf } from './read-result.ts';
import { AccountResource } from './resources/account.ts';
import { Audit } from './resources/audit.ts';
import { Billing } from './resources/billing.ts';
import { Events } from './resources/events.ts';
import { type FleetOptions, processFleet } from './resources/fleet.ts';
import { InstanceHandle } from './resources/instance-handle.ts';
import { Instances } from './resources/instances.ts';
import { Personas } from './resources/personas.ts';
import { Tests } from './resources/tests.ts';
import { Webhooks } from './resources/webhooks.ts';
import type { NotModified, Result } from './result.ts';

/**
 * Client of the Identity Engine for one API key. Safe to share: calls run concurrently and reuse
 * the platform's connections. Calls throw an `ApiError` for a refusal, a `ConnectionError` without
 * an answer, a `DeadlineError` after the deadline, or the abort reason of the call's `signal`.
 */
export class IdentityEngine {
  /** The account's instances. */
  readonly instances: Instances;
  /** Reference personas. */
  readonly personas: Personas;
  /** The personality test. */
  readonly tests: Tests;
  /** The account of the API key. */
  readonly account: AccountResource;
  /** The account's audit trail. */
  readonly audit: Audit;
  /** The events of all instances of the account. */
  readonly events: Events;
  /** Webhook endpoints: where the service sends events. */
  readonly webhooks: Webhooks;
  /** Payment provider pages. */
  readonly billing: Billing;
  readonly #caller: Caller;

  /** Throws an `IdentityEngineError` for invalid options, such as a missing key. */
  constructor(options: ClientOptions = {}) {
    this.#caller = new Caller(settingsOf(options));
    this.instances = new Instances(this.#caller);
    this.personas = new Personas(this.#caller);
    this.tests = new Tests(this.#caller);
    this.account = new AccountResource(this.#caller);
    this.audit = new Audit(this.#caller);
    this.events = new Events(this.#caller);
    this.webhooks = new Webhooks(this.#caller);
    this.billing = new Billing(this.#caller);
  }

  /** Returns an instance handle, without a request. */
  instance(id: string): InstanceHandle {
    return new InstanceHandle(this.#caller, id);
  }

  /**
   * Sends observations of many instances (interface 4.2, "Fleet calls"). Resolves to one result per
   * observation, in input order: each observation is applied, throttled or refused by itself. Lists
   * of more than 1,000 observations become several calls, one after the other.
   *
   * An observation without `idempotency_key` gets a new UUIDv7. Observations that fail for a passing
   * reason are repeated with their keys until `timeoutMs`, which counts for each 1,000 observations.
   * Throws if the first call is refused or gets no answer, for example a `RateLimitedError` or a
   * `QuotaExceededError`. After a `ConnectionError` or `DeadlineError`, observations may have been
   * applied: repeat them with your own keys.
   */
  process(
    observations: readonly FleetObservation[],
    options: FleetOptions = {},
  ): Promise<Result<ProcessedFleet>> {
    return processFleet(this.#caller, observations, options);
  }

  /**
   * Sends a request to any path, such as a path of a later service. `path` is relative to `/v1` and
   * begins with `/`; its segments are encoded. `T` is the type of `data`, which the client does not
   * check; undefined after a 204. Throws an `IdentityEngineError` for an invalid path.
   *
   * A GET is retried like other reads. A change is retried with an `idempotencyKey`, and otherwise
   * only if the failed attempt certainly changed nothing.
   */
  request<T = unknown>(
    method: RequestMethod,
    path: string,
    options?: RequestOptions,
  ): Promise<RequestResult<T>>;
  /** Sends a request, or returns "not modified" if `ifNoneMatch` is the current version. */
  request<T = unknown>(
    method: RequestMethod,
    path: string,
    options: RequestOptions & ConditionalOptions,
  ): Promise<RequestResult<T> | NotModified>;
  async request<T>(
    method: RequestMethod,
    path: string,
    options: RequestOptions & Partial<ConditionalOptions> = {},
  ): Promise<RequestResult<T> | NotModified> {
    const answer = await this.#caller.call(rawCall(method, path, options));
    const result = conditionalResultOf<T>(answer);
    return result.isNotModified ? result : { ...result, pagination: answer.body?.pagination };
  }
}
