import * as assert from 'uvu/assert';
import type { Account, AccountWithKeys } from '#accounts/account';
import { digestOf, type NeededRight, parseApiKey } from '#accounts/api-key';
import { limitsOf, type PlanChoice } from '#accounts/plan';
import type { Turn } from '#actor-runtime/turn';
import { AuditTrail } from '#audit/trail';
import { Fault } from '#errors/fault';
import type { AdmitCall, LimiterAnswer, SettleCall } from '#grpc/limiter-messages';
import { composeLimiter, type Limiter } from '#limiter/limiter-node';
import { type MeterEvents, mayTurnMonth } from '#limiter/meter/events';
import { Meter } from '#limiter/meter/meter';
import { UnrecordedReads } from '#limiter/meter/unrecorded-reads';
import { type ClockVerdict, type Instant, instantOf } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { memoryAccountStore, memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryAuditStore, memoryJournal, memoryMeterStore } from '#storage/memory/meters';
import type { AccountStore, KeyUseStore } from '#storage/ports/accounts';
import type { Journal } from '#storage/ports/journal';
import { meterOfRow, rowOfMeter } from '#storage/ports/meter-codec';
import type { MeterHead, MeterRecord } from '#storage/ports/meters';
import { createMetrics, type Metrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';

const ACCOUNT_ID = 'Acc0unt00001';

/** An enterprise plan with these limits. */
export function custom(requestsPerMinute: number, cyclesPerMonth: number): PlanChoice {
  return { plan: 'enterprise', limits: { requestsPerMinute, cyclesPerMonth } };
}

/**
 * An account with one key of scope `full` for each name. The digest of a key is the digest of its
 * name.
 */
export function record(
  choice: PlanChoice,
  change: Partial<Account> = {},
  names: readonly string[] = ['key'],
): AccountWithKeys {
  const account: Account = {
    id: ACCOUNT_ID,
    name: 'an account',
    plan: choice.plan,
    status: 'active',
    limits: limitsOf(choice),
    createdAtMs: 0,
    ...change,
  };
  const key = { scope: 'full', createdAtMs: 0 } as const;
  const keys = names.map((name, at) => ({ ...key, id: `key_${at + 1}`, digest: digestOf(name) }));
  return { account, keys };
}

/**
 * An earlier activation of a meter: its clock, its journal, and whether it may have made grants
 * without a record.
 */
export type EarlierActivation = {
  readonly clock: ManualClock;
  readonly journal: MeterJournal;
  readonly isUnknown?: boolean;
};

/** Ignores all meter events. */
export const UNNOTICED: MeterEvents = {
  lost: () => undefined,
  lostMuch: () => undefined,
  raised: () => undefined,
};

/** Records of a meter. A crash keeps only durable records. */
class MeterJournal {
  readonly heads: MeterHead[] = [];
  /** Number of durable records. Tests can limit the number. */
  durable = Number.POSITIVE_INFINITY;

  /** The record that the next owner loads. */
  get head(): MeterHead | undefined {
    return this.heads.slice(0, this.durable).at(-1);
  }
}

/** Parts from which a meter's turn is built. */
type TurnParts = Pick<Turn<MeterRecord>, 'dependOn'> & {
  readonly meter: Meter;
  readonly journal: MeterJournal;
  readonly log: { readonly isHeldUp: boolean };
  readonly now: Instant;
};

function turnOf({ meter, journal, log, now, dependOn }: TurnParts): Turn<MeterRecord> {
  return {
    ...now,
    version: journal.heads.at(-1)?.version ?? 0,
    earlierVersion: undefined,
    get offset() {
      return journal.heads.length;
    },
    commit(made) {
      if (log.isHeldUp) throw new Fault('service_unavailable', 'the journal accepts no records');
      const version = (journal.heads.at(-1)?.version ?? 0) + 1;
      meter.take(made, version);
      // Convert the record to the form that the next owner reads.
      const row: unknown = JSON.parse(JSON.stringify(rowOfMeter(made)));
      journal.heads.push({ ...meterOfRow(row), version });
    },
    dependOn,
    beforeAnswer: () => assert.unreachable('a meter has no side effects'),
  };
}

/** A meter alone, with a manual clock and a journal without delay or failure. */
export function meterUnderTest(
  choice: PlanChoice,
  earlier?: EarlierActivation,
  names: readonly string[] = ['key'],
) {
  const clock = earlier?.clock ?? new ManualClock();
  const journal = earlier?.journal ?? new MeterJournal();
  const losses: { cause: string; cycles: number }[] = [];
  const heavyLosses: number[] = [];
  const raises: [watermark: 'month' | 'window', offset: number][] = [];
  let dependsOn = 0;
  /** Verdict of the clock comparison. */
  const standing: { verdict: ClockVerdict } = { verdict: 'agreed' };
  /** State of the commit log. */
  const log = { isHeldUp: false };
  const isUnknown = earlier?.isUnknown ?? false;
  const unrecorded = new UnrecordedReads(true, isUnknown, instantOf(clock).monotonicMs);
  unrecorded.recordTo(log, instantOf(clock).monotonicMs);
  const events: MeterEvents = {
    lost: (cause, cycles) => losses.push({ cause, cycles }),
    lostMuch: () => heavyLosses.push(instantOf(clock).wallMs),
    raised: (watermark, offset) => raises.push([watermark, offset]),
    mayTurn: (step) => mayTurnMonth(step, standing.verdict),
    unrecorded,
  };
  const now = () => instantOf(clock);
  const meter = new Meter(ACCOUNT_ID, record(choice, {}, names), now(), journal.head, events);
  const dependOn = (offset: number) => {
    dependsOn = offset;
  };
  const turn = () => turnOf({ meter, journal, log, now: now(), dependOn });
  return {
    standing,
    log,
    unrecorded,
    clock,
    journal,
    meter,
    now,
    turn,
    losses,
    /** Times at which losses passed a thousandth of the quota, in Unix milliseconds. */
    heavyLosses,
    /** Raised watermarks, with the log offsets of their records. */
    raises,
    /** Log offset on which the last answer depends; 0 for none. */
    dependsOn: () => dependsOn,
    /** Replaces the meter's account, like a read. */
    refresh: (account: AccountWithKeys | undefined) => meter.account.refresh(account, now()),
    expired: () => losses.filter(({ cause }) => cause === 'expired').length,
    admit: (callId: number, cycles = 1, callTag = 0, key = 'key') =>
      meter.answer({ ...admission(callId, cycles, digestOf(key)), callTag }, turn()),
    read: (callId: number, key = 'key') =>
      meter.answer(admission(callId, 0, digestOf(key), 'read'), turn()),
    settle: (callId: number, cyclesUsed: number, callTag = 0) =>
      meter.answer({ ...settlement(callId, cyclesUsed), callTag }, turn()),
    /** Closes the meter normally, like the runtime. */
    close: () => {
      const closing = meter.closing(now());
      if (closing !== undefined) turn().commit(closing);
    },
    /** The meter of the next owner. */
    next: (plan = choice, isUnknown = false) => {
      journal.heads.length = Math.min(journal.heads.length, journal.durable);
      return meterUnderTest(plan, { clock, journal, isUnknown }, names);
    },
  };
}

/** An admission of call `callId`, with the fixture's key and account by default. */
export function admission(
  callId: number,
  cycles = 1,
  keyDigest = digestOf('key'),
  scope: NeededRight = 'full',
  accountId = ACCOUNT_ID,
): AdmitCall {
  return { kind: 'admit', accountId, keyDigest, callId, callTag: 0, scope, cycles };
}

/** A settlement of call `callId`. */
export function settlement(callId: number, cyclesUsed: number, accountId = ACCOUNT_ID): SettleCall {
  return { kind: 'settle', accountId, callId, callTag: 0, cyclesUsed };
}

/** A limiter with one account and one key, under a manual clock. */
export async function limiterUnderTest(
  choice: PlanChoice,
  options: {
    accounts?: AccountStore;
    scope?: 'full' | 'read';
    idleAgeMs?: number;
    journal?: Journal;
    keyUses?: KeyUseStore;
  } = {},
) {
  const clock = new ManualClock();
  const accounts = options.accounts ?? memoryAccountStore(clock);
  const audit = memoryAuditStore();
  const keyUses = options.keyUses ?? memoryKeyUseStore();
  const metrics = createMetrics();
  const bugs: unknown[] = [];
  const limiter = composeLimiter(
    { idleAgeMs: options.idleAgeMs ?? 60_000, memoryBytesMax: 64 * 1024 * 1024 },
    {
      accounts,
      accountNews: undefined,
      meters: memoryMeterStore(),
      audit: new AuditTrail({ store: audit, clock }),
      keyUses,
      journal: options.journal ?? memoryJournal(),
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
    admitKey: (key: string) => admitKey(limiter, key),
    counted: (line: string) => counted(metrics, line),
    clock,
    accounts,
    audit,
    keyUses,
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
    admit: async (callId: number, cycles = 1, scope: NeededRight = 'full', by = digest) =>
      limiter.client.ask(admission(callId, cycles, by, scope, id)),
    settle: async (callId: number, used: number) =>
      limiter.client.ask(settlement(callId, used, id)),
  };
}

/** Admits a call with the given key. The key names the account. */
export async function admitKey(
  limiter: Limiter,
  key: string,
  address?: string,
): Promise<LimiterAnswer> {
  const accountId = parseApiKey(key)?.accountId ?? '';
  return limiter.client.ask({ ...admission(0, 0, digestOf(key), 'full', accountId), address });
}

/**
 * Value of the sample `line` (metric name and labels) in a scrape. 0 if there is no such sample.
 */
export async function counted(metrics: Metrics, line: string): Promise<number> {
  const { text } = await metrics.scrape();
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? 0);
}
