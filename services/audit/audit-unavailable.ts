import { type Fault, faultFor } from '#fault/fault';

/** The refusal of an action whose line cannot be made durable. Source: decision 249. */
export function auditUnavailable(cause?: unknown): Fault {
  const text = 'the audit trail cannot be written, and nothing is done without it';
  return faultFor('audit_unavailable', text, { retryAfterS: 1, cause });
}
