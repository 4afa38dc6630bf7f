import { Fault } from '#fault/fault';

const OF_ENGINE = { reason: 'engine_unavailable', retryAfterS: 1 } as const;

/** The refusal after the journal's end. What was in an append may be durable; what comes later is not. */
export function journalEnded(cause: unknown, isOutcomeUnknown: boolean): Fault {
  const options = { ...OF_ENGINE, isOutcomeUnknown, cause };
  return new Fault('service_unavailable', 'this node has stopped committing', options);
}

/** The refusal while an append has no answer. */
export function journalStalled(): Fault {
  return new Fault('service_unavailable', 'the journal does not answer', OF_ENGINE);
}
