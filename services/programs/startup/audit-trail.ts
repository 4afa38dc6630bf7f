import { AuditTrail } from '#audit/trail';
import type { Foundation } from '#startup/process/dependencies';
import type { AuditStore } from '#storage/ports/audit';

/** Audit trails of accounts in `store`. A metric counts the entries that could not be stored. */
export function auditTrailOf({ clock, metrics }: Foundation, store: AuditStore): AuditTrail {
  const failures = metrics.counter('audit_failures_total');
  return new AuditTrail({ store, clock, onFailure: () => failures.inc() });
}
