import type { Decide } from '#bench/limiter/load';
import { connectLimiter } from '#wire/limiter-connection';

/** An account and the digest of a key of it. */
export type BenchAccount = { readonly id: string; readonly keyDigest: string };

/** As the local cluster has it: while all share two cores, a late answer is not a broken limiter. */
const TIMEOUT_MS = 1_000;

/** Call ids are below 2^52; these begin anywhere in the upper half. Source: limiter-messages. */
const FIRST_CALL_ID = 2 ** 51 + Math.floor(Math.random() * 2 ** 50);

/**
 * Decisions of the limiter at `address`, asked for as an edge does: an admission of `cycles`, and
 * unless that is nothing a settlement that nobody waits for.
 */
export async function openMeterDecisions(
  address: string,
  accounts: readonly BenchAccount[],
  cycles: number,
): Promise<{ readonly decide: Decide } & AsyncDisposable> {
  const limiter = connectLimiter({ address, timeoutMs: TIMEOUT_MS });
  await limiter.ready();
  let callId = FIRST_CALL_ID;
  return {
    async decide(account) {
      const { id: accountId = '', keyDigest = '' } = accounts[account] ?? {};
      callId += 1;
      const ours = callId;
      const call = { kind: 'admit', accountId, keyDigest, callId, scope: 'full', cycles } as const;
      const { verdict } = await limiter.ask(call);
      if (cycles > 0) {
        const settled = limiter.ask({ kind: 'settle', accountId, callId: ours, cyclesUsed: cycles });
        // Like an edge: it would expire as used. A limiter that is away fails admissions as well.
        Promise.resolve(settled).catch(() => undefined);
      }
      return verdict === 'admitted';
    },
    [Symbol.asyncDispose]: () => limiter[Symbol.asyncDispose](),
  };
}
