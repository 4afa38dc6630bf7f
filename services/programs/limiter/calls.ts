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
import { Fault } from '#errors/fault';
import { unknownCall } from '#grpc/frame';
import type { AccountCall, CallerDescription, LimiterAnswer } from '#grpc/limiter-messages';

/**
 * Answers account calls from edges, except admissions. Needs no meter, so any limiter can answer.
 * Rejects with `internal` for an invalid body, and with `upgrade_in_progress` for a call that this
 * release does not support.
 */
export class AccountCalls {
  readonly #audit: AuditTrail;
  readonly #billing: BillingCalls;

  /** `desk` sells plans; undefined: this service sells no plans. */
  constructor(audit: AuditTrail, desk: BillingDesk | undefined) {
    this.#audit = audit;
    this.#billing = new BillingCalls({ audit, desk });
  }

  /** Answers a call once its effects are durable. */
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
  /** Desk that sells plans. Undefined: this service sells no plans. */
  readonly desk: BillingDesk | undefined;
};

/**
 * Billing calls from edges. Rejects like `BillingDesk`, or with `billing_provider_not_configured`
 * without a desk.
 */
class BillingCalls {
  readonly #audit: AuditTrail;
  readonly #desk: BillingDesk | undefined;

  constructor({ audit, desk }: BillingCallsPorts) {
    this.#audit = audit;
    this.#desk = desk;
  }

  /** An account's plan, subscription and purchase options. */
  async standing(accountId: string): Promise<BillingStanding> {
    return await this.#present().standing(accountId);
  }

  /** Opens a checkout page, with audit lines before and after. */
  async checkout(accountId: string, { by, ...request }: CheckoutQuestion): Promise<ProviderPage> {
    const { plan } = request;
    const open = (desk: BillingDesk) => desk.checkout(accountId, request);
    return await this.#audited(accountId, 'billing.checkout', by, open, { plan });
  }

  /** Opens a page for managing a subscription, with audit lines before and after. */
  async portal(accountId: string, { by, ...request }: PortalQuestion): Promise<ProviderPage> {
    const open = (desk: BillingDesk) => desk.portal(accountId, request);
    return await this.#audited(accountId, 'billing.portal', by, open, {});
  }

  /** Processes a webhook notification; see `BillingDesk.notified`. */
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
    // The page URL is the buyer's secret, so the audit lines omit it.
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
 * A caller's plan and key, from the stored account. Undefined if the key is unusable at `nowMs`.
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
