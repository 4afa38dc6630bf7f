import type { CallOptions } from '../call-options.ts';
import type { Caller } from '../caller.ts';
import type { BillingPage, Checkout, Portal } from '../models.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/**
 * Pages of the payment provider (interface 4.6). Both calls are sent again only where an attempt certainly
 * changed nothing, and throw `BillingProviderNotConfiguredError` where there is no provider.
 */
export class Billing {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A page on which a plan is bought. Throws `InvalidPlanError`, or `ConflictError` for an account that has one. */
  async checkout(fields: Checkout, options: CallOptions = {}): Promise<Result<BillingPage>> {
    return await this.#open('/billing/checkout', fields, options);
  }

  /** A page on which what was bought is changed. Throws `NotFoundError` for an account that never bought. */
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
