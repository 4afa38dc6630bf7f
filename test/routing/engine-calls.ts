import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { callOf, type clusterUnderTest } from '#test/routing/routing-fakes';
import { stateOf } from '#test/support/settled';

/** A router and the engines behind it. */
export type Cluster = ReturnType<typeof clusterUnderTest>;

/** Sends a call. A synchronous throw becomes a rejection that the test may read later. */
export function ask(
  { routed, clock }: Cluster,
  change: Partial<EngineCall> = {},
): Promise<EngineAnswer> {
  const answer = (async () => routed.ask(callOf(clock, change)))();
  answer.catch(() => undefined);
  return answer;
}

/** Returns the body of an answer that has arrived. Rejects if the call is still pending. */
export async function bodyOf(call: Promise<EngineAnswer>): Promise<string> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'value' in state) return String(state.value.body);
  throw new Error('the call has not been answered');
}
