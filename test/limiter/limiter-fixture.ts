import type { Account, AccountWithKeys, KeyScope } from '#accounts/account';
import { digestOf, parseApiKey } from '#accounts/api-key';
import { limitsOf, type PlanChoice } from '#accounts/plan';
import { composeLimiter, type Limiter } from '#limiter/compose';
import { Meter } from '#limiter/meter';
import { createMetrics, type Metrics } from '#platform/metrics';
import { systemRandomness } from '#platform/randomness';
import type { AccountStore } from '#storage/account-store';
import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { memoryJournal } from '#storage/memory/memory-journal';
import { ManualClock } from '#test/support/manual-clock';
import type { AdmitCall, LimiterAnswer, SettleCall } from '#wire/limiter-messages';

const ACCOUNT_ID = 'Acc0unt00001';

/** An enterprise plan with these numbers. */
export function custom(requestsPerMinute: number, cyclesPerMonth: number): PlanChoice {
  return { plan: 'enterprise', limits: { requestsPerMinute, cyclesPerMonth } };
}

/** An account with one full key, whose digest is that of `key`. */
export function record(choice: PlanChoice, change: Partial<Account> = {}): AccountWithKeys {
  const account: Account = {
    id: ACCOUNT_ID,
    name: 'an account',
    plan: choice.plan,
    status: 'active',
    limits: limitsOf(choice),
    createdAtMs: 0,
    ...change,
  };
  const key = { id: 'key_1', digest: digestOf('key'), scope: 'full', createdAtMs: 0 } as const;
  return { account, keys: [key] };
}

/** A meter by itself, under a manual clock. */
export function meterUnderTest(choice: PlanChoice) {
  const clock = new ManualClock();
  let expired = 0;
  const meter = new Meter(ACCOUNT_ID, record(choice), () => {
    expired += 1;
  });
  const now = () => ({ nowMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
  const digest = digestOf('key');
  return {
    clock,
    meter,
    now,
    expired: () => expired,
    admit: (callId: number, cycles = 1) => meter.answer(admission(callId, cycles, digest), now()),
    settle: (callId: number, cyclesUsed: number) =>
      meter.answer(settlement(callId, cyclesUsed), now()),
  };
}

/** An admission of `callId`, by the fixture's key and account unless told otherwise. */
export function admission(
  callId: number,
  cycles = 1,
  keyDigest = digestOf('key'),
  scope: KeyScope = 'full',
  accountId = ACCOUNT_ID,
): AdmitCall {
  return { kind: 'admit', accountId, keyDigest, callId, scope, cycles };
}

/** A settlement of `callId`. */
export function settlement(callId: number, cyclesUsed: number, accountId = ACCOUNT_ID): SettleCall {
  return { kind: 'settle', accountId, callId, cyclesUsed };
}

/** A limiter with one account and one key, under a manual clock. */
export async function limiterUnderTest(
  choice: PlanChoice,
  options: { accounts?: AccountStore; scope?: KeyScope } = {},
) {
  const clock = new ManualClock();
  const accounts = options.accounts ?? memoryAccountStore();
  const metrics = createMetrics();
  const bugs: unknown[] = [];
  const limiter = composeLimiter(
    { idleAgeMs: 60_000, memoryBytesMax: 64 * 1024 * 1024 },
    {
      accounts,
      journal: memoryJournal(),
      clock,
      randomness: systemRandomness,
      metrics,
      onBug: (bug) => bugs.push(bug),
    },
  );
  const { id } = await limiter.admin.createAccount({ name: 'an account', choice });
  const made = await limiter.admin.createKey(id, { scope: options.scope ?? 'full' });
  return {
    ...callers(limiter, id, made.key),
    clock,
    accounts,
    metrics,
    bugs,
    limiter,
    ...made,
    id,
  };
}

function callers(limiter: Limiter, id: string, key: string) {
  const digest = digestOf(key);
  return {
    admit: async (callId: number, cycles = 1, scope: KeyScope = 'full', by = digest) =>
      limiter.client.ask(admission(callId, cycles, by, scope, id)),
    settle: async (callId: number, used: number) =>
      limiter.client.ask(settlement(callId, used, id)),
  };
}

/** What the caller of a key is told, the account taken from the key. */
export async function admitKey(limiter: Limiter, key: string): Promise<LimiterAnswer> {
  const accountId = parseApiKey(key)?.accountId ?? '';
  return limiter.client.ask(admission(0, 0, digestOf(key), 'full', accountId));
}

/** The value of a counter in a scrape. */
export async function counted(metrics: Metrics, line: string): Promise<number> {
  const { text } = await metrics.scrape();
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? 0);
}
