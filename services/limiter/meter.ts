import type { AccountWithKeys, KeyScope } from '#accounts/account';
import type { Instant } from '#accounts/minute-window';
import type { Limits } from '#accounts/plan';
import { Fault } from '#fault/fault';
import { type HeldKey, keyRing, scopeInRing } from '#limiter/key-ring';
import type { MeterEvents } from '#limiter/meter-events';
import { Minute } from '#limiter/minute';
import { Month } from '#limiter/month';
import type { Turn } from '#runtime/turn';
import type { MeterHead, MeterRecord, StoredReservation } from '#storage/meter-store';
import type {
  AdmitCall,
  Allowance,
  LimiterAnswer,
  LimiterCall,
  SettleCall,
  Verdict,
} from '#wire/limiter-messages';
import type { MeterUsage } from '#wire/limiter-tools';

/** The answer to a key that is not known, and to every key of an account that is not. */
const UNKNOWN_KEY: LimiterAnswer = { verdict: 'unknown_key', allowance: undefined };

/** Limits of an account that does not exist. Nobody is ever told. */
const NOTHING: Limits = { requestsPerMinute: 0, cyclesPerMonth: 0 };

const NO_RESERVATIONS: readonly StoredReservation[] = [];

/** Bytes of a meter without its keys and reservations; measured in `test/limiter/memory.test.ts`. */
const METER_BYTES = 750;

/** Bytes per usable key: record and digest. */
const KEY_BYTES = 160;

/** Bytes per open reservation: record, map entry and its boxed numbers. */
const RESERVATION_BYTES = 140;

/**
 * Counts one account's requests and cycles and decides who may go on. Synchronous and without
 * timers: every call brings the time. It grants only what a durable record allows (architecture 4):
 * counts live in memory, marks in the journal.
 *
 * Source: architecture 4; the order of checks is `#verdictOn`.
 */
export class Meter {
  readonly accountId: string;
  readonly #minute = new Minute();
  readonly #month: Month;
  readonly #events: MeterEvents;
  #isAbsent = true;
  #isSuspended = false;
  #limits = NOTHING;
  #keys: readonly HeldKey[] = [];
  #isStale = false;
  /** When the account was read, by the monotonic clock; undefined before the first turn. */
  #readAtMs: number | undefined;
  /** What to begin with, or the newest record that is not stored; else undefined. */
  #head: MeterHead | undefined;
  #isHeadStored = true;
  /** Whether the counts go on from the newest record; before the first turn they do not. */
  #hasBegun = false;
  /** Whether the newest record says all that this meter knows. */
  #isRecorded = true;

  constructor(
    accountId: string,
    account: AccountWithKeys | undefined,
    head: MeterHead | undefined,
    events: MeterEvents,
  ) {
    this.accountId = accountId;
    this.#head = head;
    this.#events = events;
    this.#month = new Month(events);
    this.adopt(account);
  }

  /** Takes the account as it is now. What was counted stays counted. */
  adopt(account: AccountWithKeys | undefined): void {
    this.#isStale = false;
    this.#readAtMs = undefined;
    this.#isAbsent = account === undefined;
    this.#isSuspended = account?.account.status === 'suspended';
    this.#limits = account?.account.limits ?? NOTHING;
    this.#keys = keyRing(account?.keys ?? []);
  }

  /** The account has changed: until it has been read again nothing may be decided. */
  outdate(): void {
    this.#isStale = true;
  }

  /** Whether the account must be read again: it has changed, or was read more than `ageMs` ago. */
  isOutdated(now: Instant, ageMs: number): boolean {
    this.#readAtMs ??= Math.floor(now.monotonicMs);
    return this.#isStale || now.monotonicMs - this.#readAtMs > ageMs;
  }

  /** Whether there is no such account. */
  get isAbsent(): boolean {
    return this.#isAbsent;
  }

  /** The newest record, until it is stored. */
  get head(): MeterHead | undefined {
    return this.#head;
  }

  /** The store has `head`: unless there is a newer one, nothing of it is needed any more. */
  forget(head: MeterHead | undefined): void {
    if (this.#head === head) this.#head = undefined;
    this.#month.shrink();
  }

  /** Bytes held in memory, estimated. */
  get bytes(): number {
    const keyBytes = this.#keys.length * KEY_BYTES;
    return METER_BYTES + keyBytes + this.#month.openReservations * RESERVATION_BYTES;
  }

  /** Takes a record that has been committed, here or by whoever had the account before. */
  take(record: MeterRecord, version: number): void {
    this.#head = { ...record, version };
    this.#isHeadStored = false;
    if (!this.#hasBegun || record.monthMark > this.#month.used + this.#month.reserved) return;
    // A closing record: what comes after it must raise the marks again.
    this.#month.mark.lower(record.monthMark);
    this.#minute.mark.lower(record.windowMark);
    this.#isRecorded = true;
  }

  /** The record that says all that is known, for whoever has the account next; undefined: one does. */
  closing(now: Instant): MeterRecord | undefined {
    this.#bringUpTo(now);
    if (this.#isRecorded) return undefined;
    const { used, reserved } = this.#month;
    const record = this.#record(used + reserved, this.#minute.requests(now), now);
    return { ...record, reservations: this.#month.stored(now) };
  }

  /**
   * Decides an admission or takes a settlement. Throws `service_unavailable` at a bound and when
   * the journal takes no record that is needed; then nothing has been counted.
   */
  answer(call: LimiterCall, turn: Turn<MeterRecord>): LimiterAnswer {
    switch (call.kind) {
      case 'admit':
        return this.#admit(call, turn);
      case 'settle':
        return this.#settle(call, turn);
    }
  }

  /** What has been used so far. Undefined if there is no such account. */
  usage(now: Instant): MeterUsage | undefined {
    if (this.#isAbsent) return undefined;
    this.#bringUpTo(now);
    const isOpen = this.#minute.isOpen(now);
    return {
      limits: this.#limits,
      requestsInWindow: this.#minute.requests(now),
      windowResetAtS: isOpen ? this.#minute.resetAtS(now) : undefined,
      cyclesUsed: this.#month.used,
      cyclesReserved: this.#month.reserved,
      monthResetAtS: this.#month.endsAtMs / 1_000,
      monthMark: this.#month.mark.value,
      windowMark: isOpen ? this.#minute.mark.value : 0,
      cyclesExpired: this.#month.expired,
      cyclesLost: this.#month.lost,
    };
  }

  #admit(call: AdmitCall, turn: Turn<MeterRecord>): LimiterAnswer {
    turn.restOn(0);
    const scope = scopeInRing(this.#keys, call.keyDigest, turn.nowMs);
    if (scope === undefined) return UNKNOWN_KEY;
    this.#bringUpTo(turn);
    if (call.cycles > 0) this.#month.assertRoomFor(call.callId);
    const missing = this.#month.missingFor(call.callId, call.cycles);
    const verdict = this.#verdictOn(call, scope, missing, turn);
    if (verdict !== 'rate_limited') {
      this.#minute.open(turn);
      turn.restOn(this.#cover(verdict === 'admitted' ? missing : 0, turn));
      this.#minute.count(turn);
      if (verdict === 'admitted') this.#month.reserve(call.callId, call.cycles, missing, turn);
      this.#isRecorded = false;
    }
    return { verdict, allowance: this.#allowance(turn) };
  }

  // The minute comes first and counts whatever passes it, so that no kind of refusal can be had
  // more often than the plan's requests; then what only the account's owner can change; the month
  // last, because only a call that may be made at all needs cycles.
  #verdictOn(call: AdmitCall, scope: KeyScope, missing: number, now: Instant): Verdict {
    if (this.#minute.requests(now) >= this.#limits.requestsPerMinute) return 'rate_limited';
    if (scope === 'read' && call.scope === 'full') return 'read_only_key';
    if (this.#isSuspended) return 'account_suspended';
    return missing > this.#cyclesRemaining() ? 'quota_exceeded' : 'admitted';
  }

  #settle(call: SettleCall, turn: Turn<MeterRecord>): LimiterAnswer {
    turn.restOn(0);
    if (this.#isAbsent) return UNKNOWN_KEY;
    this.#bringUpTo(turn);
    if (this.#month.settle(call.callId, call.cyclesUsed)) this.#isRecorded = false;
    this.#lower(turn);
    return { verdict: 'settled', allowance: this.#allowance(turn) };
  }

  /**
   * Sees to it that records allow one request and these cycles more, and raises both marks when one
   * of them is low. Returns where the record stands that this grant rests on.
   */
  #cover(cycles: number, turn: Turn<MeterRecord>): number {
    const { requestsPerMinute, cyclesPerMonth } = this.#limits;
    const nowMs = turn.monotonicMs;
    const window = this.#minute.mark;
    const month = this.#month.mark;
    const requests = this.#minute.requests(turn) + 1;
    const used = this.#month.used + this.#month.reserved + cycles;
    const isMonthLow = cycles > 0 && month.isLow(used, cycles, cyclesPerMonth, nowMs);
    if (isMonthLow || window.isLow(requests, 1, requestsPerMinute, nowMs)) {
      const windowMark = window.target(requests, 1, requestsPerMinute, nowMs);
      const monthMark =
        cycles > 0 ? month.target(used, cycles, cyclesPerMonth, nowMs) : month.value;
      const place = turn.commit(this.#record(monthMark, windowMark, turn));
      if (windowMark > window.value) this.#events.raised('window', place);
      if (monthMark > month.value) this.#events.raised('month', place);
      window.set(windowMark, place);
      month.set(monthMark, place);
    }
    const monthPlace = cycles > 0 ? month.placeOf(used) : 0;
    return Math.max(window.placeOf(requests), monthPlace);
  }

  /** What was given back must not be lost in a crash, beyond what a crash may cost anyway. */
  #lower(turn: Turn<MeterRecord>): void {
    const month = this.#month.mark;
    const used = this.#month.used + this.#month.reserved;
    if (!month.isHigh(used, turn.monotonicMs)) return;
    const monthMark = month.lowTarget(used, turn.monotonicMs);
    try {
      turn.commit(this.#record(monthMark, this.#minute.mark.value, turn));
    } catch (refusal) {
      // The settlement is taken all the same; the next one tries again.
      if (refusal instanceof Fault) return;
      throw refusal;
    }
    month.lower(monthMark);
  }

  #record(monthMark: number, windowMark: number, now: Instant): MeterRecord {
    return {
      monthEndsAtMs: this.#month.endsAtMs,
      monthMark,
      cyclesUsed: this.#month.used,
      cyclesExpired: this.#month.expired,
      cyclesLost: this.#month.lost,
      windowEndsAtMs: this.#minute.endsAtWallMs(now),
      windowMark,
      reservations: NO_RESERVATIONS,
    };
  }

  #bringUpTo(now: Instant): void {
    if (!this.#hasBegun) this.#begin(now);
    if (this.#month.bringUpTo(now)) this.#isRecorded = false;
  }

  /** Only now the time is known by which a record's window and reservations end. */
  #begin(now: Instant): void {
    this.#hasBegun = true;
    if (this.#head === undefined) return;
    this.#minute.restore(this.#head.windowEndsAtMs, this.#head.windowMark, now);
    this.#month.restore(this.#head, now);
    if (this.#isHeadStored) this.#head = undefined;
  }

  #cyclesRemaining(): number {
    const used = this.#month.used + this.#month.reserved;
    return Math.max(0, this.#limits.cyclesPerMonth - used);
  }

  #allowance(now: Instant): Allowance {
    const { requestsPerMinute, cyclesPerMonth } = this.#limits;
    return {
      requestsPerMinute,
      requestsRemaining: Math.max(0, requestsPerMinute - this.#minute.requests(now)),
      windowResetAtS: this.#minute.resetAtS(now),
      cyclesPerMonth,
      cyclesRemaining: this.#cyclesRemaining(),
      monthResetAtS: this.#month.endsAtMs / 1_000,
    };
  }
}
