import type { z } from 'zod';
import { AppendQuestion, PageQuestion } from '#audit/audit-questions';
import type { AuditTrail } from '#audit/audit-trail';
import { Fault } from '#fault/fault';
import type { AccountCall, LimiterAnswer } from '#wire/limiter-messages';
import { unknownCall } from '#wire/wire-trust';

/**
 * Answers what edges ask of an account besides admissions. Any limiter does: nothing of it is a meter's.
 * Rejects with `internal` for a body that no edge sends, and with `upgrade_in_progress` for a question
 * that this release does not know.
 */
export class AccountCalls {
  readonly #audit: AuditTrail;

  constructor(audit: AuditTrail) {
    this.#audit = audit;
  }

  /** The answer to a call, when what it did is durable. */
  async answer({ accountId, name, body }: AccountCall): Promise<LimiterAnswer> {
    switch (name) {
      case 'audit.append': {
        const { entry } = read(AppendQuestion, body);
        return answered({ place: await this.#audit.append(accountId, entry) });
      }
      case 'audit.page':
        return answered(await this.#audit.page(accountId, read(PageQuestion, body)));
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
