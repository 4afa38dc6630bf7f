import type { AdmitCall, LimiterAnswer, LimiterCall, SettleCall } from '#grpc/limiter-messages';
import type { limitersUnderTest } from '#test/routing/routing-fakes';
import { stateOf } from '#test/support/settled';

/** A router to limiters, and its limiters. */
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

/** The settlement of that call. */
export const SETTLE: SettleCall = {
  kind: 'settle',
  accountId: 'acct_0',
  callId: 7,
  callTag: 0,
  cyclesUsed: 1,
};

/** What a limiter may be asked for, and must never do twice. */
export const CALLS: readonly LimiterCall[] = [ADMIT, SETTLE];

/** Says yes to everything, with numbers that show who has answered. */
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

/** Asks, so that a throw is a rejection too, at whatever time the test looks at it. */
export function ask({ routed }: Limiters, call: LimiterCall): Promise<LimiterAnswer> {
  const answer = (async () => routed.ask(call))();
  answer.catch(() => undefined);
  return answer;
}

/** Who has answered by now: the requests that its numbers leave. */
export async function granterOf(call: Promise<LimiterAnswer>): Promise<number | undefined> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'value' in state) return state.value.allowance?.requestsRemaining;
  throw new Error('the call has not been answered');
}
