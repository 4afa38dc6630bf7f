import assert from 'node:assert/strict';
import { ActorHost, type HostLoad, hostLoad } from '#actor-runtime/actor-host';
import type { ActorCall, ActorKind, LoadedActor } from '#actor-runtime/actor-kind';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { Applied, EventSourcing } from '#actor-runtime/event-sourcing';
import type { ActorHostConfig, ShardGate } from '#actor-runtime/host-ports';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import type { Turn } from '#actor-runtime/turn';
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
import { type AccountCalls, describeCaller } from '#limiter/calls';
import type { KeyUses } from '#limiter/keys/uses';
import { type MeterEvents, type MonthStep, mayTurnMonth } from '#limiter/meter/events';
import { Meter, UNKNOWN_KEY } from '#limiter/meter/meter';
import type { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import { bytesOf } from '#limiter/meter/usage';
import {
  ACCOUNT_AGE_MS_MAX,
  ACCOUNT_OLD_MS,
  ACCOUNT_OLD_SPREAD_MS,
  ADMIT_AGE_MS_MAX,
  RESET_MS_MAX,
} from '#limiter/quota-bounds';
import { type Clock, type ClockVerdict, type Instant, instantOf, withinMs } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import { meterOfRow, rowOfMeter } from '#storage/ports/meter-codec';
import type { MeterCheckpoint, MeterRecord, MeterStore } from '#storage/ports/meters';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';
import { traced } from '#telemetry/tracer';

/** Memory and idle-time limits for meters, and maximum waiting times for callers. */
export type LimiterConfig = ActorHostConfig & {
  /**
   * Maximum time that an admission waits for its turn, in milliseconds. Default:
   * `ADMIT_AGE_MS_MAX`.
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
  /** Grants while the log accepts no records; absent: no such grants. */
  readonly unrecorded?: UnrecordedReads | undefined;
  /** Compares the wall clock with other clocks; undefined: no other clocks. */
  readonly clocks?: { readonly verdict: ClockVerdict } | undefined;
};

/** Call id and deadline for calls that may wait for their turn without limit. */
const UNHURRIED = { callId: 0, deadlineAtMs: Number.POSITIVE_INFINITY };

/** A limiter's meters, and its answers to all calls. A meter in memory answers synchronously. */
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

  /** Actor hosts, for the node that opens and closes shards. */
  get hosts() {
    return [this.#meters];
  }

  /** The actors' memory use, and the call count. */
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

  /** Records the key's use if the call is admitted. */
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
    // Settlements have no deadline; an admission is useful only while its caller waits.
    const deadlineAtMs =
      call.kind === 'admit' ? this.#clock.wallMs() + this.#admitAgeMs : Number.POSITIVE_INFINITY;
    let answer: MeterAnswer | Promise<MeterAnswer>;
    try {
      // Call id 0: records need no call id, and a retry finds its reservation by name.
      const asked: MeterCall = { kind: 'limit', callId: 0, deadlineAtMs, call };
      answer = this.#meters.ask(call.accountId, traced(asked, call.traceparent));
    } catch (refusal) {
      this.#metrics.unavailable();
      throw refusal;
    }
    return answer instanceof Promise ? this.#countedLater(answer) : this.#counted(answer);
  }

  // Few calls need the description. Read it from the store, and only for admitted calls.
  async #described(
    call: AdmitCall,
    decided: LimiterAnswer | Promise<LimiterAnswer>,
  ): Promise<LimiterAnswer> {
    const { verdict, allowance } = await decided;
    if (verdict !== 'admitted') return { verdict, allowance };
    const found = await this.#accounts.find(call.accountId);
    const caller = describeCaller(found, call.keyDigest, this.#clock.wallMs());
    // The key was revoked or has expired since the decision.
    return caller === undefined ? UNKNOWN_KEY : { verdict, allowance, caller };
  }

  async usage(accountId: string): Promise<MeterUsage | undefined> {
    const answer = await this.#meters.ask(accountId, { kind: 'usage', ...UNHURRIED });
    assert(answer.verdict === 'usage', 'a meter must answer a usage call with its usage');
    return answer.usage;
  }

  async resetUsage(accountId: string): Promise<MeterUsage | undefined> {
    const asked = async () => await this.#meters.ask(accountId, { kind: 'reset', ...UNHURRIED });
    const answer = await withinMs(this.#clock, RESET_MS_MAX, asked(), resetIsLate);
    assert(answer.verdict === 'usage', 'a meter must answer a reset with its usage');
    return answer.usage;
  }

  /** Makes the account's meter, if in memory, read the account before its next decision. */
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
    assert(answer.verdict !== 'usage', 'a meter must answer a check with a verdict');
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
 * Fault for a reset that missed its deadline. A stalled journal may still accept the record.
 * Repeating the reset is safe.
 */
function resetIsLate(): Fault {
  const options = { isOutcomeUnknown: true, retryAfterS: 1 } as const;
  return new Fault('service_unavailable', 'the reset is not durable yet; try again', options);
}

/** Limiter metrics, with labels bound in advance. */
type LimiterMetrics = {
  answered(verdict: Verdict): void;
  unavailable(): void;
  lost: MeterEvents['lost'];
  lostMuch: MeterEvents['lostMuch'];
  raised(watermark: 'month' | 'window', isDurable: boolean, seconds: number): void;
};

/** Registers the limiter's metrics. A settlement is not counted as a check. */
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
  // Create both series now, so that the first scrape contains them.
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

/** A call to a meter. */
type MeterCall = ActorCall &
  (
    | { readonly kind: 'limit'; readonly call: MeteredCall }
    /**
     * The account or one of its keys has changed: the meter must read the account again before its
     * next decision.
     */
    | { readonly kind: 'invalidate' }
    | { readonly kind: 'usage' }
    /** An operator resets a wrong month. */
    | { readonly kind: 'reset' }
  );

/** Answer to `limit`. All other calls return the account's usage. */
type MeterAnswer = LimiterAnswer | UsageAnswer;

/** Answer to `usage`, `invalidate` and `reset`. `usage` is undefined for an unknown account. */
type UsageAnswer = { readonly verdict: 'usage'; readonly usage: MeterUsage | undefined };

type MeterPorts = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly meters: MeterStore;
  readonly events: MeterEvents;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
};

/** Number of different refresh ages, so that meters read their accounts at different times. */
const OLD_STEPS = 32;

/** Memory of a record that is not stored yet, in bytes: its numbers and their array. */
const RECORD_BYTES = 200;

/** Memory per reservation in a closing record, in bytes. */
const STORED_RESERVATION_BYTES = 100;

/**
 * An account's meter as a durable actor (architecture 4). Commits watermarks ahead of need while
 * active, and the exact counts on deactivation.
 */
export class MeterKind
  implements
    ActorKind<Meter, MeterCall, MeterAnswer, MeterRecord>,
    EventSourcing<Meter, MeterRecord, Applied<Meter>, MeterCheckpoint | undefined>
{
  readonly name = 'meter';
  readonly sourcing = this;
  readonly #ports: MeterPorts;
  readonly #refreshing = new Set<Meter>();

  constructor(ports: MeterPorts) {
    this.#ports = ports;
  }

  async activate(accountId: string): Promise<LoadedActor<Meter>> {
    const { accounts, meters, events } = this.#ports;
    const readAt = instantOf(this.#ports.clock);
    const account = await accounts.find(accountId);
    // A forged key can name a nonexistent account: skip the second read.
    const head = account === undefined ? undefined : await meters.readHead(accountId);
    const state = new Meter(accountId, account, readAt, head, events);
    return { state, version: head?.version ?? 0, recentCalls: [] };
  }

  receive(
    meter: Meter,
    call: MeterCall,
    turn: Turn<MeterRecord>,
  ): MeterAnswer | Promise<MeterAnswer> {
    if (call.kind === 'invalidate') meter.account.invalidate();
    if (!meter.account.isStale(turn, ACCOUNT_AGE_MS_MAX)) {
      if (meter.account.isStale(turn, oldAgeMsOf(meter))) this.#refresh(meter);
      return answerOf(meter, call, turn);
    }
    return this.#reload(meter).then(() => answerOf(meter, call, turn));
  }

  apply(meter: Meter, record: MeterRecord, version: number): Applied<Meter> {
    meter.take(record, version);
    return { state: meter, answer: undefined };
  }

  recordOf(record: MeterRecord): unknown {
    return rowOfMeter(record);
  }

  read(row: unknown): MeterRecord {
    return meterOfRow(row);
  }

  closing(meter: Meter, now: Instant): MeterRecord | undefined {
    return meter.closing(now);
  }

  bucketOf(accountId: string): number {
    return this.#ports.meters.bucketOf(accountId);
  }

  checkpoint(accountId: string, meter: Meter) {
    const { head } = meter;
    const copy = head === undefined ? undefined : { accountId, head };
    return { copy, forget: () => meter.forget(head) };
  }

  async store(copies: readonly (MeterCheckpoint | undefined)[]): Promise<void> {
    const heads = copies.filter((copy) => copy !== undefined);
    if (heads.length > 0) await this.#ports.meters.checkpoint(heads);
  }

  sizeOf(meter: Meter): number {
    return meter.bytes;
  }

  sizeOfRecord({ reservations, keys = [], finished = [] }: MeterRecord): number {
    const counts = [...keys, ...finished.flatMap((month) => month.keys)];
    const counted = counts.reduce((sum, { days = [] }) => sum + bytesOf(days.length), 0);
    return RECORD_BYTES + reservations.length * STORED_RESERVATION_BYTES + counted;
  }

  /** A meter's newest record contains its whole state. */
  sizeOfUnstored({ head }: Meter): number {
    return head === undefined ? 0 : this.sizeOfRecord(head);
  }

  isAbsent(meter: Meter): boolean {
    return meter.account.isAbsent;
  }

  /**
   * Reads the account again in the background. Drops the result if the account was invalidated
   * since the read began. A failed read is repeated when the account becomes stale.
   */
  #refresh(meter: Meter): void {
    if (this.#refreshing.has(meter)) return;
    this.#refreshing.add(meter);
    const { edition } = meter.account;
    const readAt = instantOf(this.#ports.clock);
    this.#ports.accounts
      .find(meter.accountId)
      .then(
        (account) => meter.account.edition === edition && meter.account.refresh(account, readAt),
        () => undefined,
      )
      .finally(() => this.#refreshing.delete(meter));
  }

  /**
   * Reads the account before answering the call. If the read fails, the next call tries again. So a
   * revoked key stays refused after a store outage.
   */
  async #reload(meter: Meter): Promise<void> {
    const readAt = instantOf(this.#ports.clock);
    meter.account.refresh(await this.#ports.accounts.find(meter.accountId), readAt);
  }
}

/**
 * Age at which an account is read again, in milliseconds. The age differs between accounts and is
 * constant for each account.
 */
function oldAgeMsOf({ accountId }: Meter): number {
  const last = accountId.charCodeAt(accountId.length - 1);
  return ACCOUNT_OLD_MS + (last % OLD_STEPS) * (ACCOUNT_OLD_SPREAD_MS / OLD_STEPS);
}

function answerOf(meter: Meter, call: MeterCall, turn: Turn<MeterRecord>): MeterAnswer {
  if (call.kind === 'limit') return meter.answer(call.call, turn);
  // A reset must be durable before its answer; reading usage commits nothing.
  if (call.kind === 'reset') meter.resetMonth(turn);
  else turn.dependOn(0);
  return { verdict: 'usage', usage: meter.usage(turn) };
}
