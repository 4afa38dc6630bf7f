import {
  NOTIFICATIONS_ID,
  NotifiedAnswer,
  type NotifiedQuestion,
  PageAnswer,
} from '#billing/billing-questions';
import type { LimiterClient } from '#wire/limiter-messages';
import { ADDRESS_LENGTH_MAX } from '#wire/wire-bounds';

/** A page of the payment provider. */
type Page = { readonly url: string };

/** Who asks for one. */
type BillingCaller = {
  readonly accountId: string;
  readonly description: { readonly keyId: string };
  readonly address: string;
  readonly requestId: string | undefined;
};

/** What the edge asks of billing; a limiter answers. Rejects as `BillingDesk` does. Source: decision 248. */
export class AccountBilling {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /** A page to buy a plan on. */
  async checkout(
    caller: BillingCaller,
    request: { readonly plan: string; readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<Page> {
    const body = { by: buyerOf(caller), ...request };
    return PageAnswer.parse(await this.#ask(caller.accountId, 'billing.checkout', body));
  }

  /** A page to change what was bought. */
  async portal(caller: BillingCaller, returnUrl: string): Promise<Page> {
    const body = { by: buyerOf(caller), returnUrl };
    return PageAnswer.parse(await this.#ask(caller.accountId, 'billing.portal', body));
  }

  /** Takes a notification, byte for byte as it came. */
  async notified(rawBody: Buffer, signature: string): Promise<void> {
    const body: NotifiedQuestion = { rawBody: rawBody.toString('base64'), signature };
    NotifiedAnswer.parse(await this.#ask(NOTIFICATIONS_ID, 'billing.notified', body));
  }

  async #ask(accountId: string, name: string, body: unknown): Promise<unknown> {
    const call = { kind: 'account', accountId, callId: 0, callTag: 0, name, body } as const;
    return (await this.#limiter.ask(call)).body;
  }
}

/** What a proxy names as an address may be of any length: such a text is none. */
function buyerOf({ description, address, requestId }: BillingCaller) {
  const isAddressLike = address.length <= ADDRESS_LENGTH_MAX;
  return { keyId: description.keyId, address: isAddressLike ? address : undefined, requestId };
}
