import { type AuditEntry, detailsOf } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';

/** Actor in an audited action. Sessions appear with their public id. */
type AuditActor =
  | { readonly kind: 'user'; readonly id: string; readonly session?: string }
  | { readonly kind: 'anonymous' };

/** Audited actions in the console. Source: decision 245. */
export type AuditAction =
  | 'account.set_up'
  | 'session.begin'
  | 'session.fail'
  | 'session.second_factor'
  | 'session.end'
  | 'session.switch'
  | 'user.password'
  | 'user.second_factor_enrol'
  | 'user.second_factor_confirm'
  | 'user.second_factor_disable'
  | 'user.recovery_codes'
  | 'member.invite'
  | 'member.uninvite'
  | 'member.join'
  | 'member.role'
  | 'member.remove'
  | 'audit.export'
  | 'demo.load'
  | 'demo.remove'
  | 'key.create'
  | 'key.rename'
  | 'key.scope'
  | 'key.rotate'
  | 'key.disable'
  | 'key.enable'
  | 'key.revoke';

/** An audited action. Never contains passwords, codes, cookies or link values. */
export type AuditLine = {
  readonly accountId: string;
  readonly actor: AuditActor;
  readonly address: string;
  readonly requestId: string;
  readonly action: AuditAction;
  readonly target?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
};

/** Fields that the outcome line may add: target and new values. */
type Shown = Pick<AuditLine, 'target' | 'after'>;

/** Writes console actions to the accounts' audit trails. Source: decision 249. */
export class ConsoleAudit {
  readonly #trail: Pick<AuditTrail, 'append' | 'around'>;

  constructor(trail: Pick<AuditTrail, 'append' | 'around'>) {
    this.#trail = trail;
  }

  /**
   * Appends a `begun` line, runs `act`, and appends an outcome line with the fields of `shown`. If
   * the first line cannot be appended, rejects with `audit_unavailable` and does not run `act`.
   * Rejects with the errors of `act`.
   */
  async around<Result>(
    line: AuditLine,
    act: () => Promise<Result>,
    shown: (result: Result) => Shown = () => ({}),
  ): Promise<Result> {
    const { accountId } = line;
    return await this.#trail.around(accountId, entryOf(line), act, (result) =>
      entryOf(shown(result)),
    );
  }

  /** Appends a line about a refused action. Rejects with `audit_unavailable`. */
  async refused(line: AuditLine): Promise<void> {
    await this.#trail.append(line.accountId, { ...entryOf(line), outcome: 'unauthorized' });
  }
}

function entryOf(line: AuditLine): Omit<AuditEntry, 'outcome' | 'of'>;
function entryOf(line: Shown): Pick<AuditEntry, 'target' | 'after'>;
function entryOf({
  accountId: _,
  before,
  after,
  ...line
}: Partial<AuditLine>): Partial<AuditEntry> {
  return {
    ...line,
    ...(before !== undefined && { before: detailsOf(before) }),
    ...(after !== undefined && { after: detailsOf(after) }),
  };
}
