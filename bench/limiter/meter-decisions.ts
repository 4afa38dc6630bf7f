import type { BenchAccount } from '#bench/limiter/bench-accounts';
import type { Decide } from '#bench/limiter/load';
import { FrameClient } from '#grpc/frame-client';
import { limiterProtocol } from '#grpc/limiter-codec';

/**
 * Timeout of a decision, as in the local cluster: all processes share two cores and answer slowly.
 */
const TIMEOUT_MS = 1_000;

/** First call id, random in the upper half of the range below 2^52. Source: limiter-messages. */
const FIRST_CALL_ID = 2 ** 51 + Math.floor(Math.random() * 2 ** 50);

/**
 * Requests decisions from the limiter at `address` as an edge does: an admission of `cycles`
 * cycles, then a settlement that is not awaited (no settlement for 0 cycles). A failed settlement
 * fails the next decision.
 */
export async function openMeterDecisions(
  address: string,
  accounts: readonly BenchAccount[],
  cycles: number,
): Promise<{ readonly decide: Decide } & AsyncDisposable> {
  const limiter = new FrameClient(limiterProtocol, { address, timeoutMs: TIMEOUT_MS });
  await limiter.ready();
  let callId = FIRST_CALL_ID;
  let settleFailure: unknown;
  return {
    async decide(account) {
      if (settleFailure !== undefined) {
        const failure = settleFailure;
        settleFailure = undefined;
        throw failure;
      }
      const { id: accountId = '', keyDigest = '' } = accounts[account] ?? {};
      callId += 1;
      const ours = callId;
      const call = { kind: 'admit', accountId, keyDigest, callId, callTag: 0 } as const;
      const { verdict } = await limiter.ask({ ...call, scope: 'full', cycles });
      if (cycles > 0) {
        const settled = limiter.ask({
          kind: 'settle',
          accountId,
          callId: ours,
          callTag: 0,
          cyclesUsed: cycles,
        });
        settled.catch((error: unknown) => {
          settleFailure = error;
        });
      }
      return verdict === 'admitted';
    },
    [Symbol.asyncDispose]: () => limiter[Symbol.asyncDispose](),
  };
}
