import { AuditTrail } from '#audit/trail';
import { type Clock, systemClock } from '#stdlib/clock';
import { memoryAuditStore } from '#storage/memory/meters';

/** Audit trails in memory. */
export function memoryTrail(clock: Clock = systemClock): AuditTrail {
  return new AuditTrail({ store: memoryAuditStore(), clock });
}
