import assert from 'node:assert/strict';
import { type AccountAdmin, accountAdmin } from '#limiter/account-admin';
import { ADMIT_AGE_MS_MAX } from '#limiter/bounds';
import { type LimiterMetrics, limiterMetrics } from '#limiter/limiter-metrics';
import { type MeterAnswer, type MeterCall, meterKind, type UsageAnswer } from '#limiter/meter-kind';
import type { Clock } from '#platform/clock';
import type { Metrics } from '#platform/metrics';
import type { Randomness } from '#platform/randomness';
import { ActorHost } from '#runtime/actor-host';
import { CommitLog } from '#runtime/commit-log';
import type { ActorHostConfig } from '#runtime/host-ports';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import { ONE_SHARD } from '#runtime/shard-gate';
import type { AccountStore } from '#storage/account-store';
import type { Journal } from '#storage/journal';
import type { LimiterAnswer, LimiterClient } from '#wire/limiter-messages';

/** How long and how much idle meters may stay in memory. */
export type LimiterConfig = ActorHostConfig;

/** What a limiter needs of its process. */
export type LimiterPorts = {
  readonly accounts: AccountStore;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly metrics: Metrics;
  /** Called with what is no Fault: our own bugs, for the process's log. */
  readonly onBug: (error: unknown) => void;
};

/** A limiter: its checks, and the administration of the accounts it checks. */
export type Limiter = AsyncDisposable & {
  readonly client: LimiterClient;
  readonly admin: AccountAdmin;
};

type MeterHost = {
  ask(accountId: string, call: MeterCall): MeterAnswer | Promise<MeterAnswer>;
};

/** A limiter over the given stores. A check of an account in memory is answered synchronously. */
export function composeLimiter(config: LimiterConfig, ports: LimiterPorts): Limiter {
  const { accounts, clock, randomness, onBug } = ports;
  const metrics = limiterMetrics(ports.metrics);
  const kind = meterKind({ accounts, clock, onExpired: metrics.reservationExpired });
  const host = new ActorHost(kind, config, {
    clock,
    log: new CommitLog(ports.journal, clock),
    gate: ONE_SHARD,
    metrics: runtimeMetrics(ports.metrics, 'limiter', kind.name),
    onBug,
  });
  const reload = async (accountId: string) => {
    await host.ask(accountId, { kind: 'reload', ...UNHURRIED });
  };
  const usage = async (accountId: string) => {
    const answer = await host.ask(accountId, { kind: 'usage', ...UNHURRIED });
    return usageIn(answer).usage;
  };
  return {
    client: limiterClient(host, clock, metrics),
    admin: accountAdmin({ accounts, clock, randomness, reload, usage }),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** Administration waits its turn however long it takes, and commits nothing. */
const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };

function limiterClient(host: MeterHost, clock: Clock, metrics: LimiterMetrics): LimiterClient {
  function counted(answer: MeterAnswer): LimiterAnswer {
    const checked = checkIn(answer);
    metrics.answered(checked.verdict);
    return checked;
  }

  async function countedLater(pending: Promise<MeterAnswer>): Promise<LimiterAnswer> {
    try {
      return counted(await pending);
    } catch (refusal) {
      metrics.unavailable();
      throw refusal;
    }
  }

  return {
    ask(call) {
      // A settlement is never too late to be worth taking; an admission that nobody waits for is.
      const deadlineAtMs =
        call.kind === 'admit' ? clock.wallMs() + ADMIT_AGE_MS_MAX : Number.POSITIVE_INFINITY;
      const { callId } = call;
      let answer: MeterAnswer | Promise<MeterAnswer>;
      try {
        answer = host.ask(call.accountId, { kind: 'limit', callId, deadlineAtMs, call });
      } catch (refusal) {
        metrics.unavailable();
        throw refusal;
      }
      return answer instanceof Promise ? countedLater(answer) : counted(answer);
    },
  };
}

function checkIn(answer: MeterAnswer): LimiterAnswer {
  assert(answer.verdict !== 'usage', 'a meter answers a check with a verdict');
  return answer;
}

function usageIn(answer: MeterAnswer): UsageAnswer {
  assert(answer.verdict === 'usage', 'a meter answers a question for usage with it');
  return answer;
}
