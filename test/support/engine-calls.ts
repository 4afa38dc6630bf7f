import type { EngineCall } from '#grpc/engine-messages';

/** The fields that a call has in any case. */
type Given = 'accountId' | 'instanceId' | 'callId' | 'deadlineAtMs' | 'command';

/** A call with these fields; without others it has no key and no condition, and may be done. */
export function plainCall(
  fields: Pick<EngineCall, Given> & Partial<Omit<EngineCall, Given>>,
): EngineCall {
  return { idempotency: undefined, isReplayOnly: false, ifMatch: undefined, ...fields };
}
