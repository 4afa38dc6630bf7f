import { Fault, type FaultOptions } from '#fault/fault';

/** The same refusal of a call of which an earlier try may have happened. */
export function ofUnknownOutcome(fault: Fault): Fault {
  if (fault.isOutcomeUnknown) return fault;
  const { reason, field, mode, retryAfterS } = fault;
  const options: FaultOptions = { isOutcomeUnknown: true, cause: fault };
  if (reason !== undefined) options.reason = reason;
  if (field !== undefined) options.field = field;
  if (mode !== undefined) options.mode = mode;
  if (retryAfterS !== undefined) options.retryAfterS = retryAfterS;
  return new Fault(fault.code, fault.message, options);
}
