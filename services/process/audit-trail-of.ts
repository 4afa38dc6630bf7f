import { AuditTrail } from '#audit/audit-trail';
import type { Foundation } from '#process/foundation';
import type { AuditStore } from '#storage/audit-store';

/** The audit trails as this process writes them; lines that could not be made durable are counted. */
export function auditTrailOf({ clock, metrics }: Foundation, store: AuditStore): AuditTrail {
  const failures = metrics.counter('audit_failures_total');
  return new AuditTrail({ store, clock, onFailure: () => failures.inc() });
}
