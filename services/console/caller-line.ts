import type { AuditAction, AuditLine } from '#console/console-audit';
import { type Caller, sessionIdOf } from '#console/live-sessions';
import { originOf, type Visit } from '#console/visit';

/** A line of the audit trail about what someone who is signed in does. */
export function lineOf(
  { session }: Caller,
  visit: Visit,
  action: AuditAction,
  more: Pick<AuditLine, 'target' | 'before' | 'after'> = {},
): AuditLine {
  const actor = { kind: 'user', id: session.userId, session: sessionIdOf(session) } as const;
  return { accountId: session.accountId, actor, ...originOf(visit), action, ...more };
}
