import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import type { Account } from '../models.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/** The account of the API key (interface 4.5). */
export class AccountResource {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Returns the plan, the key of this call, and the usage of this minute and month. */
  async get(options: CallOptions = {}): Promise<Result<Account>> {
    return resultOf(
      await this.#caller.call({
        ...{ method: 'GET', path: '/account', options, repeatable: 'always', isChange: false },
      }),
    );
  }
}
