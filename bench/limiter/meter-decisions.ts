import type { BenchAccount } from '#bench/limiter/bench-accounts';
import type { Decide } from '#bench/limiter/load';
import { FrameClient } from '#grpc/frame-client';
import { limiterProtocol } from '#grpc/limiter-codec';

/** As the local cluster has it: while all share two cores, a late answer is not a broken limiter. */
const TIMEOUT_MS = 1_000;

/** Call ids are below 2^52; these begin anywhere in the upper half. Source: limiter-messages. */
const FIRST_CALL_ID = 2 ** 51 + Math.floor(Math.random() * 2 ** 50);

/**
 * Decisions of the limiter at `address`, asked for as an edge does: an admission of `cycles`, and
 * unless that is nothing a settlement that no caller waits for. When one has failed the next decision
 * fails in its place.
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
