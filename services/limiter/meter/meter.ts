import type { AccountWithKeys } from '#accounts/account';
import { isScopeEnough } from '#accounts/api-key';
import { monthEndOf } from '#accounts/windows';
import { Fault } from '#fault/fault';
import { LOST_SHARE_TOLERABLE } from '#limiter/bounds';
import { CachedAccount, type HeldKey, isUnplaced, mayComeFrom } from '#limiter/keys/ring';
import type { MeterEvents } from '#limiter/meter/events';
import { Minute } from '#limiter/meter/minute';
import { Month } from '#limiter/meter/month';
import { usageOfMonth } from '#limiter/meter/month-usage';
import type { Instant } from '#platform/clock';
import type { Turn } from '#runtime/turn';
import type { MeterHead, MeterRecord, StoredReservation } from '#storage/ports/meters';
import type { MeterUsage } from '#wire/admin';
import type {
  AdmitCall,
  Allowance,
  LimiterAnswer,
  MeteredCall,
  SettleCall,
  Verdict,
} from '#wire/limiter-messages';

/** The answer to a key that does not exist, and to every key of an account that does not. */
export const UNKNOWN_KEY: LimiterAnswer = { verdict: 'unknown_key', allowance: undefined };

const NO_RESERVATIONS: readonly StoredReservation[] = [];

/** Bytes of a meter without its keys and reservations; measured in `test/limiter/memory.test.ts`. */
const METER_BYTES = 880;

/** Bytes per open reservation: record, map entry and numbers. */
const RESERVATION_BYTES = 160;

/**
 * Counts one account's requests and cycles and decides who may go on. Synchronous and without
 * timers: every call brings the time. It grants only what a durable record allows (architecture 4):
 * counts live in memory, watermarks in the journal.
 *
 * Source: architecture 4; the order of checks is `#verdictOn`.
 */
export class Meter {
  readonly accountId: string;
  readonly account: CachedAccount;
  readonly #minute = new Minute();
  readonly #month: Month;
  /** The stored record to continue from, then the newest record until it is stored. */
  #head: MeterHead | undefined;
  /** Whether the counts continue the newest record; before the first turn they do not. */
  #hasBegun = false;
  /** Whether the newest record says all that this meter knows. */
  #isRecorded = true;

  constructor(
    accountId: string,
    account: AccountWithKeys | undefined,
    /** When the read that found the account began. */
    readAt: Instant,
    head: MeterHead | undefined,
    events: MeterEvents,
  ) {
    this.accountId = accountId;
    this.#head = head;
    this.#month = new Month(events);
    this.account = new CachedAccount(account, readAt);
  }

  /** The newest record, until it is stored. */
  get head(): MeterHead | undefined {
    return this.#head;
  }

  /**
   * The store has `head`: unless there is a newer one, nothing of it is needed any more, once the
   * counts go on from it. A recovered meter may be stored before its first turn.
   */
  forget(head: MeterHead | undefined): void {
    if (this.#hasBegun) {
      if (this.#head === head) this.#head = undefined;
      this.#month.forgetFinished(head?.finished);
    }
    this.#month.shrink();
  }

  /** Bytes held in memory, estimated. */
  get bytes(): number {
    const { openReservations, keyBytes } = this.#month;
    const counted = openReservations * RESERVATION_BYTES + keyBytes;
    return METER_BYTES + this.account.keyBytes + counted;
  }

  /** Takes a record that has been committed, here or by an earlier owner of the account. */
  take(record: MeterRecord, version: number): void {
    this.#head = { ...record, version };
    if (!this.#hasBegun || record.monthWatermark > this.#month.used + this.#month.reserved) return;
    // A closing record: what comes after it must raise the watermarks again.
    this.#month.watermark.lower(record.monthWatermark);
    this.#minute.watermark.lower(record.windowWatermark);
    this.#isRecorded = true;
  }

  /** The record of all that is known, for the account's next owner; undefined: the newest one is. */
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
  answer(call: MeteredCall, turn: Turn<MeterRecord>): LimiterAnswer {
    switch (call.kind) {
      case 'admit':
        return this.#admit(call, turn);
      case 'settle':
        return this.#settle(call, turn);
    }
  }

  /** What has been used so far. Undefined if there is no such account. */
  usage(now: Instant): MeterUsage | undefined {
    if (this.account.isAbsent) return undefined;
    this.#bringUpTo(now);
    const isOpen = this.#minute.isOpen(now);
    return {
      limits: this.account.limits,
      requestsInWindow: this.#minute.requests(now),
      windowResetAtS: isOpen ? this.#minute.resetAtS(now) : undefined,
      windowWatermark: isOpen ? this.#minute.watermark.value : 0,
      ...usageOfMonth(this.#month),
    };
  }

  /**
   * Begins the present month, with nothing used, where the meter is in another one: a wrong clock
   * had moved it. Throws `service_unavailable` if this limiter's clock is wrong, or the journal
   * takes no record.
   */
  resetMonth(turn: Turn<MeterRecord>): void {
    this.#bringUpTo(turn);
    const monthEndsAtMs = monthEndOf(turn.wallMs);
    if (this.account.isAbsent || this.#month.endsAtMs === monthEndsAtMs) return;
    this.#month.assertTrusted();
    const blank = { monthWatermark: 0, cyclesUsed: 0, cyclesExpired: 0, cyclesLost: 0 };
    const { days: _, keys: __, ...record } = this.#record(0, this.#minute.watermark.value, turn);
    turn.commit({ ...record, ...blank, monthEndsAtMs });
    this.#month.begin(turn);
    this.#isRecorded = false;
  }

  #admit(call: AdmitCall, turn: Turn<MeterRecord>): LimiterAnswer {
    turn.dependOn(0);
    const key = this.account.holderOf(call, turn.wallMs);
    if (key === undefined || isUnplaced(key, call.address)) return UNKNOWN_KEY;
    this.#bringUpTo(turn);
    this.#month.assertBegun();
    if (call.cycles > 0) this.#month.assertRoomFor(call);
    const missing = this.#month.missingFor(call, call.cycles);
    const verdict = this.#verdictOn(call, key, missing, turn);
    if (verdict !== 'rate_limited') {
      this.#minute.open(turn, this.#forgotten(turn));
      const isAdmitted = verdict === 'admitted';
      const { unrecorded } = this.#month.events;
      if (unrecorded?.grant(call, this.#minute.unrecorded, this.account.limits, turn) === true) {
        this.#minute.countUnrecorded();
      } else {
        // A reservation that it shares may depend on a record that is not durable yet.
        const isOfCycles = isAdmitted && call.cycles > 0;
        turn.dependOn(this.#cover(isAdmitted ? missing : 0, isOfCycles, turn));
        this.#minute.count(turn);
      }
      if (isAdmitted) this.#month.reserve(call, call.cycles, missing, key.digest, turn);
      this.#isRecorded = false;
    }
    return { verdict, allowance: this.#allowance(turn) };
  }

  /** Requests of the window that may have been granted without a record, by what is no more. */
  #forgotten(now: Instant): number {
    return this.#month.events.unrecorded?.forgotten(this.account.limits, now) ?? 0;
  }

  // The minute comes first and counts whatever passes it, so that no kind of refusal can be had
  // more often than the plan's requests; then what only the account's owner can change; the month
  // last, because only a call that may be made at all needs cycles.
  #verdictOn(call: AdmitCall, key: HeldKey, missing: number, now: Instant): Verdict {
    if (this.#minute.requests(now) >= this.account.limits.requestsPerMinute) return 'rate_limited';
    if (!mayComeFrom(key, call.address)) return 'address_not_allowed';
    if (!isScopeEnough(key.scope, call.scope)) return 'read_only_key';
    if (this.account.isSuspended) return 'account_suspended';
    return missing > this.#cyclesRemaining() ? 'quota_exceeded' : 'admitted';
  }

  #settle(call: SettleCall, turn: Turn<MeterRecord>): LimiterAnswer {
    turn.dependOn(0);
    if (this.account.isAbsent) return UNKNOWN_KEY;
    this.#bringUpTo(turn);
    if (this.#month.settle(call, call.cyclesUsed)) this.#isRecorded = false;
    this.#lower(turn);
    return { verdict: 'settled', allowance: this.#allowance(turn) };
  }

  /**
   * Pre-allocates one request and these cycles more: raises both watermarks when one of them is
   * low. Returns the offset of the record that this grant depends on, and if it `isOfCycles`
   * everything that is reserved already.
   */
  #cover(cycles: number, isOfCycles: boolean, turn: Turn<MeterRecord>): number {
    const { requestsPerMinute, cyclesPerMonth } = this.account.limits;
    const nowMs = turn.monotonicMs;
    const window = this.#minute.watermark;
    const month = this.#month.watermark;
    const requests = this.#minute.requests(turn) + 1;
    const used = this.#month.used + this.#month.reserved + cycles;
    const isMonthLow = cycles > 0 && month.isLow(used, cycles, cyclesPerMonth, nowMs);
    if (isMonthLow || window.isLow(requests, 1, requestsPerMinute, nowMs)) {
      const windowWatermark = window.raisedFor(requests, 1, requestsPerMinute, nowMs);
      const monthWatermark =
        cycles > 0 ? month.raisedFor(used, cycles, cyclesPerMonth, nowMs) : month.value;
      turn.commit(this.#record(monthWatermark, windowWatermark, turn));
      const { offset } = turn;
      if (windowWatermark > window.value) this.#month.events.raised('window', offset);
      if (monthWatermark > month.value) this.#month.events.raised('month', offset);
      window.set(windowWatermark, offset);
      month.set(monthWatermark, offset);
    }
    const monthOffset = isOfCycles ? month.offsetOf(used) : 0;
    return Math.max(window.offsetOf(requests), monthOffset);
  }

  /** Lowers the month's watermark: a crash must not cost what was released beyond what it may anyway. */
  #lower(turn: Turn<MeterRecord>): void {
    const month = this.#month.watermark;
    const used = this.#month.used + this.#month.reserved;
    if (!month.isHigh(used, turn.monotonicMs)) return;
    const monthWatermark = month.loweredFor(used, turn.monotonicMs);
    try {
      turn.commit(this.#record(monthWatermark, this.#minute.watermark.value, turn));
    } catch (refusal) {
      // The settlement is taken all the same; the next one tries again.
      if (refusal instanceof Fault) return;
      throw refusal;
    }
    month.lower(monthWatermark);
  }

  #record(monthWatermark: number, windowWatermark: number, now: Instant): MeterRecord {
    return {
      ...this.#month.recorded(monthWatermark),
      ...this.#minute.recorded(windowWatermark, now),
      reservations: NO_RESERVATIONS,
    };
  }

  #bringUpTo(now: Instant): void {
    this.account.bringUpTo(now.wallMs);
    if (!this.#hasBegun) this.#begin(now);
    if (this.#month.bringUpTo(now)) this.#isRecorded = false;
  }

  /** Continues the stored record, in the first turn: its window and reservations end by the time now. */
  #begin(now: Instant): void {
    this.#hasBegun = true;
    if (this.#head === undefined) return;
    this.#minute.restore(this.#head, now, this.#forgotten(now));
    const before = this.#head.cyclesLost;
    this.#month.restore(this.#head, now);
    // Else a meter that no call reaches would lose the same cycles in each of its lives.
    if (this.#month.lost > before) this.#isRecorded = false;
    const tolerable = this.account.limits.cyclesPerMonth * LOST_SHARE_TOLERABLE;
    const isNew = before <= tolerable && this.#month.lost > tolerable;
    if (isNew && this.#month.endsAtMs > now.wallMs) this.#month.events.lostMuch();
  }

  #cyclesRemaining(): number {
    const used = this.#month.used + this.#month.reserved;
    return Math.max(0, this.account.limits.cyclesPerMonth - used);
  }

  #allowance(now: Instant): Allowance {
    const { limits, modelVersion } = this.account;
    const { requestsPerMinute, cyclesPerMonth, instances } = limits;
    const allowance: Allowance = {
      requestsPerMinute,
      requestsRemaining: Math.max(0, requestsPerMinute - this.#minute.requests(now)),
      windowResetAtS: this.#minute.resetAtS(now),
      cyclesPerMonth,
      cyclesRemaining: this.#cyclesRemaining(),
      monthResetAtS: this.#month.endsAtMs / 1_000,
      instances,
    };
    return modelVersion === undefined ? allowance : { ...allowance, modelVersion };
  }
}
