import type { EngineCall } from '#grpc/engine-messages';

/** Required call fields. */
type Given = 'accountId' | 'instanceId' | 'callId' | 'deadlineAtMs' | 'command';

/**
 * A call with these fields, by default without idempotency key, condition or replay restriction.
 */
export function plainCall(
  fields: Pick<EngineCall, Given> & Partial<Omit<EngineCall, Given>>,
): EngineCall {
  return { idempotency: undefined, isReplayOnly: false, ifMatch: undefined, ...fields };
}
