import assert from 'node:assert/strict';
import { ActorHost, type HostLoad, hostLoad } from '#actor-runtime/actor-host';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig } from '#actor-runtime/host-ports';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import type { ShardGate } from '#actor-runtime/shard-gate';
import { Fault } from '#errors/fault';
import type { MeterUsage } from '#grpc/admin';
import type {
  AdmitCall,
  LimiterAnswer,
  LimiterCall,
  LimiterClient,
  MeteredCall,
  Verdict,
} from '#grpc/limiter-messages';
import { ADMIT_AGE_MS_MAX, RESET_MS_MAX } from '#limiter/bounds';
import { type AccountCalls, describeCaller } from '#limiter/calls';
import type { KeyUses } from '#limiter/keys/uses';
import { type MeterEvents, type MonthStep, mayTurnMonth } from '#limiter/meter/events';
import { type MeterAnswer, type MeterCall, MeterKind } from '#limiter/meter/kind';
import { type Meter, UNKNOWN_KEY } from '#limiter/meter/meter';
import type { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import { type Clock, type ClockVerdict, withinMs } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import type { MeterRecord, MeterStore } from '#storage/ports/meters';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';
import { traced } from '#telemetry/tracer';

/** Memory and idle-time limits of meters, and maximum waiting times of callers. */
export type LimiterConfig = ActorHostConfig & {
  /**
   * Maximum age of an admission when its turn comes, in milliseconds. Default: `ADMIT_AGE_MS_MAX`.
   */
  readonly admitAgeMs?: number;
};

type LimiterActorsPorts = ProcessPorts & {
  readonly accounts: AccountStore;
  readonly meters: MeterStore;
  readonly accountCalls: AccountCalls;
  readonly keyUses: Pick<KeyUses, 'note'>;
  readonly metrics: Metrics;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  /** Grants while the log takes no records; absent: nothing is granted. */
  readonly unrecorded?: UnrecordedReads | undefined;
  /** Compares the wall clock with other clocks; undefined if there are no others. */
  readonly clocks?: { readonly verdict: ClockVerdict } | undefined;
};

/** Call id and deadline of calls that wait for their turn without a deadline. */
const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };

/**
 * The meters of one limiter, and its answers to all calls. A meter in memory answers synchronously.
 */
export class LimiterActors implements LimiterClient, AsyncDisposable {
  readonly #meters: ActorHost<Meter, MeterCall, MeterAnswer, MeterRecord>;
  readonly #admitAgeMs: number;
  readonly #accounts: AccountStore;
  readonly #accountCalls: AccountCalls;
  readonly #keyUses: Pick<KeyUses, 'note'>;
  readonly #clock: Clock;
  readonly #log: CommitLog;
  readonly #metrics: LimiterMetrics;
  #calls = 0;

  constructor(config: LimiterConfig, ports: LimiterActorsPorts) {
    this.#admitAgeMs = config.admitAgeMs ?? ADMIT_AGE_MS_MAX;
    this.#accounts = ports.accounts;
    this.#accountCalls = ports.accountCalls;
    this.#keyUses = ports.keyUses;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#metrics = limiterMetrics(ports.metrics);
    const events = {
      lost: this.#metrics.lost,
      lostMuch: this.#metrics.lostMuch,
      raised: (watermark: 'month' | 'window', offset: number) => this.#timeRaise(watermark, offset),
      mayTurn: (step: MonthStep) => mayTurnMonth(step, ports.clocks?.verdict ?? 'agreed'),
      unrecorded: ports.unrecorded,
    };
    const { accounts, meters, clock, log, gate, onBug, tracer } = ports;
    const kind = new MeterKind({ accounts, meters, clock, events });
    const metrics = runtimeMetrics(ports.metrics, 'limiter', kind.name);
    this.#meters = new ActorHost(kind, config, { clock, log, gate, metrics, onBug, tracer });
  }

  /** The actor hosts, for the node to open and close their shards. */
  get hosts() {
    return [this.#meters];
  }

  /** Actors in memory, and the number of calls so far. */
  get load(): HostLoad & { readonly calls: number } {
    return { ...hostLoad(this.hosts), calls: this.#calls };
  }

  ask(call: LimiterCall): LimiterAnswer | Promise<LimiterAnswer> {
    this.#calls += 1;
    if (call.kind === 'account') return this.#accountCalls.answer(call);
    const answer = this.#decide(call);
    if (call.kind !== 'admit') return answer;
    const hasNews = call.client !== undefined && call.isOfMember !== true;
    const used = hasNews ? this.#noted(call, answer) : answer;
    return call.isCallerDescribed === true ? this.#described(call, used) : used;
  }

  /** Records the use of the key once the call is admitted. */
  #noted(
    call: AdmitCall,
    decided: LimiterAnswer | Promise<LimiterAnswer>,
  ): LimiterAnswer | Promise<LimiterAnswer> {
    if (decided instanceof Promise) return decided.then((answer) => this.#noteIf(call, answer));
    return this.#noteIf(call, decided);
  }

  #noteIf(call: AdmitCall, answer: LimiterAnswer): LimiterAnswer {
    if (answer.verdict === 'admitted') this.#keyUses.note(call);
    return answer;
  }

  #decide(call: MeteredCall): LimiterAnswer | Promise<LimiterAnswer> {
    // A settlement is taken at any age; an admission only while its caller waits.
    const deadlineAtMs =
      call.kind === 'admit' ? this.#clock.wallMs() + this.#admitAgeMs : Number.POSITIVE_INFINITY;
    let answer: MeterAnswer | Promise<MeterAnswer>;
    try {
      // Call id 0: watermarks belong to no call, and a retry finds its reservation.
      const asked: MeterCall = { kind: 'limit', callId: 0, deadlineAtMs, call };
      answer = this.#meters.ask(call.accountId, traced(asked, call.traceparent));
    } catch (refusal) {
      this.#metrics.unavailable();
      throw refusal;
    }
    return answer instanceof Promise ? this.#countedLater(answer) : this.#counted(answer);
  }

  // Few calls need the description. It is read from the store, and only for an admitted call.
  async #described(
    call: AdmitCall,
    decided: LimiterAnswer | Promise<LimiterAnswer>,
  ): Promise<LimiterAnswer> {
    const { verdict, allowance } = await decided;
    if (verdict !== 'admitted') return { verdict, allowance };
    const found = await this.#accounts.find(call.accountId);
    const caller = describeCaller(found, call.keyDigest, this.#clock.wallMs());
    // The key was revoked or expired after the decision.
    return caller === undefined ? UNKNOWN_KEY : { verdict, allowance, caller };
  }

  async usage(accountId: string): Promise<MeterUsage | undefined> {
    const answer = await this.#meters.ask(accountId, { kind: 'usage', ...UNHURRIED });
    assert(answer.verdict === 'usage', 'a meter answers a question for usage with it');
    return answer.usage;
  }

  async resetUsage(accountId: string): Promise<MeterUsage | undefined> {
    const asked = async () => await this.#meters.ask(accountId, { kind: 'reset', ...UNHURRIED });
    const answer = await withinMs(this.#clock, RESET_MS_MAX, asked(), resetIsLate);
    assert(answer.verdict === 'usage', 'a meter answers a reset with its usage');
    return answer.usage;
  }

  /**
   * Makes the meter of a changed account, if in memory, read the account before its next decision.
   */
  async accountChanged(accountId: string): Promise<void> {
    await this.#meters.askResident(accountId, { kind: 'invalidate', ...UNHURRIED });
  }

  /** Refuses new calls, then stores all state. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#meters[Symbol.asyncDispose]();
  }

  #timeRaise(watermark: 'month' | 'window', offset: number): void {
    const startedMs = this.#clock.monotonicMs();
    const ended = (isDurable: boolean) =>
      this.#metrics.raised(watermark, isDurable, (this.#clock.monotonicMs() - startedMs) / 1_000);
    this.#log.whenNoticed(offset).then(
      () => ended(true),
      () => ended(false),
    );
  }

  #counted(answer: MeterAnswer): LimiterAnswer {
    assert(answer.verdict !== 'usage', 'a meter answers a check with a verdict');
    this.#metrics.answered(answer.verdict);
    return answer;
  }

  async #countedLater(pending: Promise<MeterAnswer>): Promise<LimiterAnswer> {
    try {
      return this.#counted(await pending);
    } catch (refusal) {
      this.#metrics.unavailable();
      throw refusal;
    }
  }
}

/**
 * The fault of a reset that missed its deadline. A stalled journal may still take the record;
 * another reset does no harm.
 */
function resetIsLate(): Fault {
  const options = { isOutcomeUnknown: true, retryAfterS: 1 } as const;
  return new Fault('service_unavailable', 'the reset is not durable yet; try again', options);
}

/** Metrics of the limiter, with every label bound in advance. */
type LimiterMetrics = {
  answered(verdict: Verdict): void;
  unavailable(): void;
  lost: MeterEvents['lost'];
  lostMuch: MeterEvents['lostMuch'];
  raised(watermark: 'month' | 'window', isDurable: boolean, seconds: number): void;
};

/** The limiter's metrics. A settlement does not count as a check. */
export function limiterMetrics(metrics: Metrics): LimiterMetrics {
  const checks = metrics.counter('limiter_checks_total');
  const expired = metrics.counter('limiter_reservations_expired_total');
  const histogram = metrics.histogram('limiter_watermark_raise_seconds');
  const bothOf = (watermark: 'month' | 'window') => ({
    ok: histogram.labels({ watermark, result: 'ok' }),
    failed: histogram.labels({ watermark, result: 'failed' }),
  });
  const raises = { month: bothOf('month'), window: bothOf('window') };
  const lost = metrics.counter('limiter_lost_cycles_total');
  // Creates both series, so that the first scrape shows them.
  for (const cause of ['expired', 'crash']) lost.labels({ cause }).inc(0);
  const heavyLosses = metrics.counter('limiter_heavy_losses_total');
  const allow = checks.labels({ decision: 'allow' });
  const rate = checks.labels({ decision: 'rate' });
  const quota = checks.labels({ decision: 'quota' });
  const key = checks.labels({ decision: 'key' });
  const unavailable = checks.labels({ decision: 'unavailable' });
  return {
    answered(verdict) {
      switch (verdict) {
        case 'admitted':
          return allow.inc();
        case 'rate_limited':
          return rate.inc();
        case 'quota_exceeded':
          return quota.inc();
        case 'unknown_key':
        case 'address_not_allowed':
        case 'read_only_key':
        case 'account_suspended':
          return key.inc();
        case 'settled':
        case 'answered':
          return undefined;
      }
    },
    unavailable: () => unavailable.inc(),
    raised: (watermark, isDurable, seconds) =>
      raises[watermark][isDurable ? 'ok' : 'failed'].observe(seconds),
    lostMuch: () => heavyLosses.inc(),
    lost(cause, cycles) {
      lost.labels({ cause }).inc(cycles);
      if (cause === 'expired') expired.inc();
    },
  };
}
