import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import type { BillingPage, Checkout, Portal } from '../models.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/**
 * Payment pages (interface 4.6). A call is retried only if the failed attempt certainly changed
 * nothing. Calls throw `BillingProviderNotConfiguredError` if the service has no payment provider.
 */
export class Billing {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Page for buying a plan. Throws `InvalidPlanError`, or `ConflictError` if the account already
   * has a plan.
   */
  async checkout(fields: Checkout, options: CallOptions = {}): Promise<Result<BillingPage>> {
    return await this.#open('/billing/checkout', fields, options);
  }

  /** Page for changing a purchase. Throws `NotFoundError` if the account never bought a plan. */
  async portal(fields: Portal, options: CallOptions = {}): Promise<Result<BillingPage>> {
    return await this.#open('/billing/portal', fields, options);
  }

  async #open(path: string, body: object, options: CallOptions): Promise<Result<BillingPage>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'POST', path, body, options },
        ...{ repeatable: 'if_nothing_happened', isChange: true },
      }),
    );
  }
}
