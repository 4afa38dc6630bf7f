import type { z } from 'zod';
import { type AccountWithKeys, isUsable } from '#accounts/account';
import { accountAt } from '#accounts/plan-change';
import type { AuditEntry } from '#audit/entry';
import { AppendQuestion, PageQuestion } from '#audit/page';
import type { AuditTrail } from '#audit/trail';
import type { BillingDesk } from '#billing/billing-desk';
import {
  type Buyer,
  CheckoutQuestion,
  NotifiedQuestion,
  PortalQuestion,
  StandingQuestion,
} from '#billing/billing-questions';
import type { BillingStanding } from '#billing/billing-standing';
import type { ProviderPage } from '#billing/provider';
import { Fault } from '#fault/fault';
import type { AccountCall, CallerDescription, LimiterAnswer } from '#wire/limiter-messages';
import { unknownCall } from '#wire/tls';

/**
 * Answers what edges ask of an account besides admissions. Any limiter does: nothing of it is a meter's.
 * Rejects with `internal` for a body that no edge sends, and with `upgrade_in_progress` for a question
 * that this release does not know.
 */
export class AccountCalls {
  readonly #audit: AuditTrail;
  readonly #billing: BillingCalls;

  /** `desk`: where plans are bought; undefined: nowhere. */
  constructor(audit: AuditTrail, desk: BillingDesk | undefined) {
    this.#audit = audit;
    this.#billing = new BillingCalls({ audit, desk });
  }

  /** The answer to a call, when what it did is durable. */
  async answer({ accountId, name, body }: AccountCall): Promise<LimiterAnswer> {
    switch (name) {
      case 'audit.append': {
        const { entry, linesMax } = read(AppendQuestion, body);
        return answered({ place: await this.#audit.append(accountId, entry, linesMax) });
      }
      case 'audit.page':
        return answered(await this.#audit.page(accountId, read(PageQuestion, body)));
      case 'billing.standing':
        read(StandingQuestion, body);
        return answered(await this.#billing.standing(accountId));
      case 'billing.checkout':
        return answered(await this.#billing.checkout(accountId, read(CheckoutQuestion, body)));
      case 'billing.portal':
        return answered(await this.#billing.portal(accountId, read(PortalQuestion, body)));
      case 'billing.notified':
        return answered(await this.#billing.notified(read(NotifiedQuestion, body)));
      default:
        throw unknownCall();
    }
  }
}

function answered(body: unknown): LimiterAnswer {
  return { verdict: 'answered', allowance: undefined, body };
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const { data, error } = schema.safeParse(body);
  if (error !== undefined) throw new Fault('internal', 'internal error', { cause: error });
  return data;
}

type BillingCallsPorts = {
  readonly audit: AuditTrail;
  /** Undefined: nothing is sold here. */
  readonly desk: BillingDesk | undefined;
};

/**
 * What edges ask of billing. Rejects as `BillingDesk` does, and with
 * `billing_provider_not_configured` where there is none.
 */
class BillingCalls {
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

/**
 * Plan and key of a caller, from its account as the store has it. Undefined if the key may not be
 * used at `nowMs`.
 */
export function describeCaller(
  found: AccountWithKeys | undefined,
  keyDigest: string,
  nowMs: number,
): CallerDescription | undefined {
  const key = found?.keys.find(({ digest }) => digest === keyDigest);
  if (found === undefined || key === undefined || !isUsable(key, nowMs)) return undefined;
  const { id: keyId, scope: keyScope, expiresAtMs: keyExpiresAtMs } = key;
  const { plan } = accountAt(found.account, nowMs);
  return { plan, keyId, keyScope, keyExpiresAtMs };
}
