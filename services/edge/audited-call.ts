import type { AuditEntry } from '#audit/audit-entry';
import type { AccountAudit } from '#edge/account-audit';

/** The lines of one write to an instance: one before it happens, and one more if it is refused or done already. */
export class AuditedCall {
  readonly #audit: AccountAudit;
  readonly #accountId: string;
  readonly #entry: Omit<AuditEntry, 'outcome'>;
  readonly #linesMax: number;
  #begun: Pick<AuditEntry, 'target' | 'of'> | undefined;

  /** `entry` says who does what; what it is done to is known when it begins. `linesMax`: of a month. */
  constructor(
    audit: AccountAudit,
    accountId: string,
    entry: Omit<AuditEntry, 'outcome' | 'target'>,
    linesMax: number,
  ) {
    this.#audit = audit;
    this.#accountId = accountId;
    this.#entry = entry;
    this.#linesMax = linesMax;
  }

  /** Fulfils when the line is durable. Rejects with `audit_unavailable`: it must not happen then. */
  async begin(target: string): Promise<void> {
    const entry: AuditEntry = { ...this.#entry, target, outcome: 'begun' };
    this.#begun = { target, of: await this.#audit.append(this.#accountId, entry, this.#linesMax) };
  }

  /** It is done; says so only if it had been done before. */
  async answered({ isReplayed }: { readonly isReplayed: boolean }): Promise<void> {
    if (isReplayed) await this.ended('repeated');
  }

  /** Says how it ended, where that is not as it began, as far as the trail can be reached. */
  async ended(outcome: AuditEntry['outcome']): Promise<void> {
    if (this.#begun === undefined) return;
    const entry: AuditEntry = { ...this.#entry, ...this.#begun, outcome };
    this.#begun = undefined;
    await this.#audit.append(this.#accountId, entry, this.#linesMax).catch(() => undefined);
  }
}
