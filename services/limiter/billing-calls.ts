import type { AuditEntry } from '#audit/audit-entry';
import type { AuditTrail } from '#audit/audit-trail';
import type { BillingDesk } from '#billing/billing-desk';
import type { ProviderPage } from '#billing/billing-provider';
import type {
  Buyer,
  CheckoutQuestion,
  NotifiedQuestion,
  PortalQuestion,
} from '#billing/billing-questions';
import type { BillingStanding } from '#billing/billing-standing';
import { Fault } from '#fault/fault';

type BillingCallsPorts = {
  readonly audit: AuditTrail;
  /** Undefined: nothing is sold here. */
  readonly desk: BillingDesk | undefined;
};

/**
 * What edges ask of billing. Rejects as `BillingDesk` does, and with
 * `billing_provider_not_configured` where there is none.
 */
export class BillingCalls {
  readonly #audit: AuditTrail;
  readonly #desk: BillingDesk | undefined;

  constructor({ audit, desk }: BillingCallsPorts) {
    this.#audit = audit;
    this.#desk = desk;
  }

  /** What an account has bought, and what it may buy. */
  async standing(accountId: string): Promise<BillingStanding> {
    return await this.#present().standing(accountId);
  }

  /** A page to buy a plan on, between two lines of the audit trail. */
  async checkout(accountId: string, { by, ...request }: CheckoutQuestion): Promise<ProviderPage> {
    const { plan } = request;
    const open = (desk: BillingDesk) => desk.checkout(accountId, request);
    return await this.#audited(accountId, 'billing.checkout', by, open, { plan });
  }

  /** A page to change what was bought, between two lines of the audit trail. */
  async portal(accountId: string, { by, ...request }: PortalQuestion): Promise<ProviderPage> {
    const open = (desk: BillingDesk) => desk.portal(accountId, request);
    return await this.#audited(accountId, 'billing.portal', by, open, {});
  }

  /** Takes a notification: `BillingDesk.notified`. */
  async notified({ rawBody, signature }: NotifiedQuestion): Promise<{ readonly outcome: string }> {
    const bytes = Buffer.from(rawBody, 'base64');
    return { outcome: await this.#present().notified(bytes, signature) };
  }

  async #audited(
    accountId: string,
    action: string,
    by: Buyer,
    open: (desk: BillingDesk) => Promise<ProviderPage>,
    after: Readonly<Record<string, string>>,
  ): Promise<ProviderPage> {
    const desk = this.#present();
    const { address, requestId } = by;
    const entry = { actor: actorOf(by), address, requestId, action };
    // The address of a page is a secret of its buyer: it is in no line.
    return await this.#audit.around(
      accountId,
      entry,
      () => open(desk),
      () => ({ after }),
    );
  }

  #present(): BillingDesk {
    if (this.#desk !== undefined) return this.#desk;
    throw new Fault('billing_provider_not_configured', 'no payment provider is set up');
  }
}

function actorOf(by: Buyer): AuditEntry['actor'] {
  if ('keyId' in by) return { kind: 'key', id: by.keyId };
  return { kind: 'user', id: by.userId, session: by.sessionId };
}
