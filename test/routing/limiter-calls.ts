import type { AdmitCall, LimiterAnswer, LimiterCall, SettleCall } from '#grpc/limiter-messages';
import type { limitersUnderTest } from '#test/routing/routing-fakes';
import { stateOf } from '#test/support/settled';

/** A router and the limiters behind it. */
export type Limiters = ReturnType<typeof limitersUnderTest>;

/** An admission of three cycles. */
export const ADMIT: AdmitCall = {
  kind: 'admit',
  accountId: 'acct_0',
  keyDigest: 'digest',
  callId: 7,
  callTag: 0,
  scope: 'full',
  cycles: 3,
};

/** The settlement of `ADMIT`. */
export const SETTLE: SettleCall = {
  kind: 'settle',
  accountId: 'acct_0',
  callId: 7,
  callTag: 0,
  cyclesUsed: 1,
};

/** Calls to a limiter that must never be executed twice. */
export const CALLS: readonly LimiterCall[] = [ADMIT, SETTLE];

/**
 * Returns an `ask` function that grants every call. `requestsRemaining` in its answers identifies
 * the limiter.
 */
export function granting(requestsRemaining: number) {
  return ({ kind }: LimiterCall): LimiterAnswer => ({
    verdict: kind === 'admit' ? 'admitted' : 'settled',
    allowance: {
      requestsPerMinute: 60,
      requestsRemaining,
      windowResetAtS: 1_800_000_000,
      cyclesPerMonth: 1_000,
      cyclesRemaining: 900,
      monthResetAtS: 1_800_000_000,
      instances: 1_000,
    },
  });
}

/** Sends a call. A synchronous throw becomes a rejection that the test may read later. */
export function ask({ routed }: Limiters, call: LimiterCall): Promise<LimiterAnswer> {
  const answer = (async () => routed.ask(call))();
  answer.catch(() => undefined);
  return answer;
}

/**
 * Returns the remaining requests in an answer that has arrived, which identify the limiter. Rejects
 * if the call is still pending.
 */
export async function granterOf(call: Promise<LimiterAnswer>): Promise<number | undefined> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'value' in state) return state.value.allowance?.requestsRemaining;
  throw new Error('the call has not been answered');
}
