import type { AuditEntry } from '#audit/audit-entry';
import type { AuditPage } from '#audit/audit-page';
import { AppendAnswer, PageAnswer, type PageQuestion } from '#audit/audit-questions';
import { auditUnavailable } from '#audit/audit-unavailable';
import { askOfAccount } from '#edge/account-question';
import { Fault } from '#fault/fault';
import type { LimiterClient } from '#wire/limiter-messages';

/** Refusals of the limiter that callers see as they are. */
const OWN: ReadonlySet<string | undefined> = new Set(['audit_unavailable', 'audit_full']);

/** What the edge writes to and reads of the audit trail of a caller's account. Source: decision 249. */
export class AccountAudit {
  readonly #limiter: LimiterClient;

  constructor(limiter: LimiterClient) {
    this.#limiter = limiter;
  }

  /**
   * Appends a line and fulfils with its place once it is durable. Rejects with `audit_unavailable` when
   * that is not certain, and with `audit_full` in a month with `linesMax` lines: then the action must not
   * happen.
   */
  async append(accountId: string, entry: AuditEntry, linesMax: number): Promise<string> {
    try {
      const answer = await askOfAccount(this.#limiter, accountId, 'audit.append', {
        entry,
        linesMax,
      });
      return AppendAnswer.parse(answer).place;
    } catch (cause) {
      if (cause instanceof Fault && OWN.has(cause.reason)) throw cause;
      throw auditUnavailable(cause);
    }
  }

  /** Some lines of the account, newest first. Rejects with `service_unavailable`. */
  async page(accountId: string, question: PageQuestion): Promise<AuditPage> {
    const { lines, next } = PageAnswer.parse(
      await askOfAccount(this.#limiter, accountId, 'audit.page', question),
    );
    return { lines, next };
  }
}
