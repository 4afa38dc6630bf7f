import { Caller } from './calls/caller.ts';
import { type ClientOptions, settingsOf } from './client-options.ts';
import { AccountResource } from './resources/account.ts';
import { Audit } from './resources/audit.ts';
import { Billing } from './resources/billing.ts';
import { InstanceHandle } from './resources/instance-handle.ts';
import { Instances } from './resources/instances.ts';
import { Personas } from './resources/personas.ts';
import { Tests } from './resources/tests.ts';

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
    this.billing = new Billing(this.#caller);
  }

  /** Returns an instance handle, without a request. */
  instance(id: string): InstanceHandle {
    return new InstanceHandle(this.#caller, id);
  }
}
