import { AuditTrail } from '#audit/trail';
import { type Clock, systemClock } from '#stdlib/clock';
import { memoryAuditStore } from '#storage/memory/meters';

/** In-memory audit trail. */
export function memoryTrail(clock: Clock = systemClock): AuditTrail {
  return new AuditTrail({ store: memoryAuditStore(), clock });
}
