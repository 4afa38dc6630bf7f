import type { z } from 'zod';
import {
  NOTIFICATIONS_ID,
  NotifiedAnswer,
  type NotifiedQuestion,
  PageAnswer,
  StandingAnswer,
} from '#billing/billing-questions';
import { askOfAccount } from '#edge/account-question';
import type { LimiterClient } from '#wire/limiter-messages';
import { ADDRESS_LENGTH_MAX } from '#wire/wire-bounds';

/** A page of the payment provider. */
type Page = { readonly url: string };

/** Who asks for one: with an API key, or in the console. */
type BillingCaller = {
  readonly accountId: string;
  readonly address: string;
  readonly requestId: string | undefined;
} & (
  | { readonly description: { readonly keyId: string } }
  | { readonly member: { readonly userId: string; readonly sessionId: string } }
);

/** What the edge asks of billing; a limiter answers. Rejects as `BillingDesk` does. Source: decision 248. */
export class AccountBilling {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /** What an account has bought, and what it may buy. */
  async standing(accountId: string): Promise<z.infer<typeof StandingAnswer>> {
    return StandingAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'billing.standing', {}),
    );
  }

  /** A page to buy a plan on. */
  async checkout(
    caller: BillingCaller,
    request: { readonly plan: string; readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<Page> {
    const body = { by: buyerOf(caller), ...request };
    return PageAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.checkout', body),
    );
  }

  /** A page to change what was bought. */
  async portal(caller: BillingCaller, returnUrl: string): Promise<Page> {
    const body = { by: buyerOf(caller), returnUrl };
    return PageAnswer.parse(
      await askOfAccount(this.#limiter, caller.accountId, 'billing.portal', body),
    );
  }

  /** Takes a notification, byte for byte as it came. */
  async notified(rawBody: Buffer, signature: string): Promise<void> {
    const body: NotifiedQuestion = { rawBody: rawBody.toString('base64'), signature };
    NotifiedAnswer.parse(
      await askOfAccount(this.#limiter, NOTIFICATIONS_ID, 'billing.notified', body),
    );
  }
}

/** What a proxy names as an address may be of any length: such a text is none. */
function buyerOf(caller: BillingCaller) {
  const { address, requestId } = caller;
  const isAddressLike = address.length <= ADDRESS_LENGTH_MAX;
  const who = 'member' in caller ? caller.member : { keyId: caller.description.keyId };
  return { ...who, address: isAddressLike ? address : undefined, requestId };
}
