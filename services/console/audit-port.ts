import { auditUnavailable } from '#audit/audit-unavailable';
import { APPEND_MS_MAX } from '#audit/bounds';
import { type Clock, withinMs } from '#platform/clock';

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
  | 'key.rotate'
  | 'key.disable'
  | 'key.enable'
  | 'key.revoke';

/** One line of an account's audit trail. Never a password, a code, a cookie or the value of a link. */
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

/** Makes a line durable. It must fulfil before what the line says is done. */
export type Audit = (line: AuditLine) => Promise<void>;

/** The same, with a deadline; a line that does not become durable is a 503, before anything is done. */
export function demanded(audit: Audit, clock: Clock): Audit {
  return async (line) => {
    try {
      await withinMs(clock, APPEND_MS_MAX, audit(line));
    } catch (cause) {
      throw auditUnavailable(cause);
    }
  };
}
