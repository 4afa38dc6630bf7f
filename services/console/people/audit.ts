import { type AuditEntry, detailsOf } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';

/** Who does something in the console. A session is named by its public id. */
type AuditActor =
  | { readonly kind: 'user'; readonly id: string; readonly session?: string }
  | { readonly kind: 'anonymous' };

/** What can be done in the console by people. Source: decision 245. */
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
  | 'key.create'
  | 'key.rename'
  | 'key.scope'
  | 'key.rotate'
  | 'key.disable'
  | 'key.enable'
  | 'key.revoke';

/** What is done to an account. Never a password, a code, a cookie or the value of a link. */
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

/** What a second line may add: what something was done to, and what that is now. */
type Shown = Pick<AuditLine, 'target' | 'after'>;

/** What people do in the console, in the audit trails of their accounts. Source: decision 249. */
export class ConsoleAudit {
  readonly #trail: Pick<AuditTrail, 'append' | 'around'>;

  constructor(trail: Pick<AuditTrail, 'append' | 'around'>) {
    this.#trail = trail;
  }

  /**
   * Does something between two lines: before it as begun, behind it how it ended, with what `shown`
   * makes of the result. Rejects with `audit_unavailable` before anything has happened, and as `act`.
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

  /** Writes down that someone was refused. Rejects with `audit_unavailable`. */
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
