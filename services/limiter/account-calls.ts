import type { z } from 'zod';
import { AppendQuestion, PageQuestion } from '#audit/audit-questions';
import type { AuditTrail } from '#audit/audit-trail';
import type { BillingDesk } from '#billing/billing-desk';
import {
  CheckoutQuestion,
  NotifiedQuestion,
  PortalQuestion,
  StandingQuestion,
} from '#billing/billing-questions';
import { Fault } from '#fault/fault';
import { BillingCalls } from '#limiter/billing-calls';
import type { AccountCall, LimiterAnswer } from '#wire/limiter-messages';
import { unknownCall } from '#wire/wire-trust';

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
