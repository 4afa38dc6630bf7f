import type { AccountWithKeys } from '#accounts/account';
import { monthEndOf, WINDOW_MS } from '#accounts/quota-windows';
import type { Turn } from '#actor-runtime/turn';
import { Fault } from '#errors/fault';
import type { MeterUsage } from '#grpc/admin';
import type {
  AdmitCall,
  Allowance,
  LimiterAnswer,
  MeteredCall,
  SettleCall,
  Verdict,
} from '#grpc/limiter-messages';
import {
  CachedAccount,
  type HeldKey,
  isScopeEnough,
  isUnplaced,
  mayComeFrom,
} from '#limiter/keys/usable-keys';
import type { MeterEvents } from '#limiter/meter/events';
import { Month, usageOfMonth } from '#limiter/meter/month-quota';
import { DurableWatermark } from '#limiter/meter/usage';
import { LOST_SHARE_TOLERABLE } from '#limiter/quota-bounds';
import type { Instant } from '#stdlib/clock';
import type { MeterHead, MeterRecord, StoredReservation } from '#storage/ports/meters';

/** Answer for an unknown key, and for every key in an unknown account. */
export const UNKNOWN_KEY: LimiterAnswer = { verdict: 'unknown_key', allowance: undefined };

const NO_RESERVATIONS: readonly StoredReservation[] = [];

/**
 * Memory per meter without keys and reservations, in bytes; measured in
 * `test/limiter/memory.test.ts`.
 */
const METER_BYTES = 880;

/** Memory per open reservation, in bytes: record, map entry and numbers. */
const RESERVATION_BYTES = 160;

/**
 * Counts an account's requests and cycles, and decides which calls are admitted. Synchronous and
 * without timers: every call passes the time. Grants only what a durable record allows: counts are
 * in memory, watermarks in the journal.
 *
 * Source: architecture 4. `#verdictOn` documents the order of checks.
 */
export class Meter {
  readonly accountId: string;
  readonly account: CachedAccount;
  readonly #minute = new Minute();
  readonly #month: Month;
  /**
   * Before the first turn: the stored record, from which the counts continue. Later: the newest
   * record, until it is stored.
   */
  #head: MeterHead | undefined;
  /** Whether the counts include the newest record; false before the first turn. */
  #hasBegun = false;
  /** Whether the newest record has this meter's whole state. */
  #isRecorded = true;

  constructor(
    accountId: string,
    account: AccountWithKeys | undefined,
    /** When the account's read began. */
    readAt: Instant,
    head: MeterHead | undefined,
    events: MeterEvents,
  ) {
    this.accountId = accountId;
    this.#head = head;
    this.#month = new Month(events);
    this.account = new CachedAccount(account, readAt);
  }

  /** The newest record. Undefined after `forget` has dropped the record. */
  get head(): MeterHead | undefined {
    return this.#head;
  }

  /**
   * Drops data that the store has, up to record `head`. A recovered meter may be stored before its
   * first turn. The meter then keeps `head`, because the counts must continue from it.
   */
  forget(head: MeterHead | undefined): void {
    if (this.#hasBegun) {
      if (this.#head === head) this.#head = undefined;
      this.#month.forgetFinished(head?.finished);
    }
    this.#month.shrink();
  }

  /** Estimated memory, in bytes. */
  get bytes(): number {
    const { openReservations, keyBytes } = this.#month;
    const counted = openReservations * RESERVATION_BYTES + keyBytes;
    return METER_BYTES + this.account.keyBytes + counted;
  }

  /** Takes a committed record, from this node or an earlier owner. */
  take(record: MeterRecord, version: number): void {
    this.#head = { ...record, version };
    if (!this.#hasBegun || record.monthWatermark > this.#month.used + this.#month.reserved) return;
    // A closing record lowers the watermarks, so the next grants must raise them again.
    this.#month.watermark.lower(record.monthWatermark);
    this.#minute.watermark.lower(record.windowWatermark);
    this.#isRecorded = true;
  }

  /**
   * Record with the whole state, for the account's next owner. Undefined if the newest record is
   * already complete.
   */
  closing(now: Instant): MeterRecord | undefined {
    this.#bringUpTo(now);
    if (this.#isRecorded) return undefined;
    const { used, reserved } = this.#month;
    const record = this.#record(used + reserved, this.#minute.requests(now), now);
    return { ...record, reservations: this.#month.stored(now) };
  }

  /**
   * Decides an admission or applies a settlement. Throws `service_unavailable` at a bound, or if
   * the journal rejects a required record; the call is then not counted.
   */
  answer(call: MeteredCall, turn: Turn<MeterRecord>): LimiterAnswer {
    switch (call.kind) {
      case 'admit':
        return this.#admit(call, turn);
      case 'settle':
        return this.#settle(call, turn);
    }
  }

  /** The account's present usage; undefined if the account does not exist. */
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
   * If the meter is in another month, after a wrong clock, begins the present month without usage.
   * Throws `service_unavailable` if this limiter's clock is wrong or the journal rejects the
   * record.
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
    const cycles = this.#cyclesFor(call);
    const missing = this.#month.missingFor(call, cycles);
    const verdict = this.#verdictOn(call, key, cycles, turn);
    let reservation: number | undefined;
    if (verdict !== 'rate_limited') {
      this.#minute.open(turn, this.#forgotten(turn));
      const isAdmitted = verdict === 'admitted';
      const { unrecorded } = this.#month.events;
      if (unrecorded?.grant(call, this.#minute.unrecorded, this.account.limits, turn) === true) {
        this.#minute.countUnrecorded();
      } else {
        // A shared reservation may depend on a record that is not yet durable.
        const isOfCycles = isAdmitted && call.cycles > 0;
        turn.dependOn(this.#cover(requestsOf(call), isAdmitted ? missing : 0, isOfCycles, turn));
        this.#minute.count(requestsOf(call), turn);
      }
      if (isAdmitted) reservation = this.#month.reserve(call, cycles, missing, key.digest, turn);
      this.#isRecorded = false;
    }
    const answer = { verdict, allowance: this.#allowance(turn) };
    const isGranted = verdict === 'admitted' && call.isPartial === true;
    const granted = isGranted ? { ...answer, cycles } : answer;
    return reservation === undefined ? granted : { ...granted, reservation };
  }

  /** Cycles to reserve for a call: all, or with `isPartial` at most the cycles that are left. */
  #cyclesFor({ cycles, isPartial }: AdmitCall): number {
    return isPartial === true ? Math.min(cycles, this.#cyclesRemaining()) : cycles;
  }

  /** Upper bound for requests that an earlier process granted without records in the window. */
  #forgotten(now: Instant): number {
    return this.#month.events.unrecorded?.forgotten(this.account.limits, now) ?? 0;
  }

  // Order of checks: the minute is first and counts each call that passes, so refusals are also
  // limited by the plan's request rate. Next are checks that only the account's owner can fix. The
  // month is last, because only calls that pass all other checks need cycles.
  #verdictOn(call: AdmitCall, key: HeldKey, cycles: number, now: Instant): Verdict {
    const requests = this.#minute.requests(now) + requestsOf(call);
    if (requests > this.account.limits.requestsPerMinute) return 'rate_limited';
    if (!mayComeFrom(key, call.address)) return 'address_not_allowed';
    if (!isScopeEnough(key.scope, call.scope)) return 'read_only_key';
    if (this.account.isSuspended) return 'account_suspended';
    const isEmpty = cycles === 0 && call.cycles > 0;
    const isBeyond = this.#month.missingFor(call, cycles) > this.#cyclesRemaining();
    return isEmpty || isBeyond ? 'quota_exceeded' : 'admitted';
  }

  #settle(call: SettleCall, turn: Turn<MeterRecord>): LimiterAnswer {
    turn.dependOn(0);
    if (this.account.isAbsent) return UNKNOWN_KEY;
    this.#bringUpTo(turn);
    if (this.#month.settle(call)) this.#isRecorded = false;
    this.#lower(turn);
    return { verdict: 'settled', allowance: this.#allowance(turn) };
  }

  /**
   * Pre-allocates `count` requests and `cycles` cycles. If one of the watermarks is low, raises both.
   * Returns the log offset on which this grant depends. With `isOfCycles`, the offset also covers
   * all cycles reserved so far.
   */
  #cover(count: number, cycles: number, isOfCycles: boolean, turn: Turn<MeterRecord>): number {
    const { requestsPerMinute, cyclesPerMonth } = this.account.limits;
    const nowMs = turn.monotonicMs;
    const window = this.#minute.watermark;
    const month = this.#month.watermark;
    const requests = this.#minute.requests(turn) + count;
    const used = this.#month.used + this.#month.reserved + cycles;
    const isMonthLow = cycles > 0 && month.isLow(used, cycles, cyclesPerMonth, nowMs);
    if (isMonthLow || window.isLow(requests, count, requestsPerMinute, nowMs)) {
      const windowWatermark = window.raisedFor(requests, count, requestsPerMinute, nowMs);
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

  /** Lowers the month's watermark after refunds, so that a crash loses at most two steps. */
  #lower(turn: Turn<MeterRecord>): void {
    const month = this.#month.watermark;
    const used = this.#month.used + this.#month.reserved;
    if (!month.isHigh(used, turn.monotonicMs)) return;
    const monthWatermark = month.loweredFor(used, turn.monotonicMs);
    try {
      turn.commit(this.#record(monthWatermark, this.#minute.watermark.value, turn));
    } catch (refusal) {
      // The settlement is already applied. The next settlement tries to lower the watermark again.
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

  /**
   * Continues from the stored record in the first turn. The present time limits its window and
   * reservations.
   */
  #begin(now: Instant): void {
    this.#hasBegun = true;
    if (this.#head === undefined) return;
    this.#minute.restore(this.#head, now, this.#forgotten(now));
    const before = this.#head.cyclesLost;
    this.#month.restore(this.#head, now);
    // Otherwise a meter without calls would lose the same cycles at each activation.
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

/** Number of requests that a call counts as. */
function requestsOf({ requests = 1 }: AdmitCall): number {
  return requests;
}

/** The fields of a record that describe the window. */
type RecordedWindow = Pick<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'unrecorded'>;

/**
 * Counts an account's requests in a one-minute window. A window begins with the first request after
 * the previous window. The monotonic clock measures windows (decision 25, interface 8.1).
 */
export class Minute {
  /** Durable upper bound for requests in the present window. */
  readonly watermark = new DurableWatermark();
  /** End in monotonic milliseconds, rounded up: a window is never shorter than a minute. */
  #endsAtMs = 0;
  #resetAtS = 0;
  #requests = 0;
  /** Counted requests in the open window that may lack a record. */
  #unrecorded = 0;

  /**
   * Continues the window of a record. Assumes that all requests up to the watermark were made. Adds
   * `forgotten` requests, except those that the record includes in `unrecorded`.
   */
  restore(
    { windowEndsAtMs, windowWatermark, unrecorded = 0 }: RecordedWindow,
    now: Instant,
    forgotten = 0,
  ): void {
    const leftMs = Math.min(WINDOW_MS, windowEndsAtMs - now.wallMs);
    if (leftMs <= 0) return;
    this.#endsAtMs = Math.ceil(now.monotonicMs + leftMs);
    this.#resetAtS = Math.ceil((now.wallMs + leftMs) / 1_000);
    this.#requests = windowWatermark + Math.max(0, forgotten - unrecorded);
    this.#unrecorded = Math.max(forgotten, unrecorded);
    this.watermark.set(windowWatermark, 0);
  }

  /** Requests in the open window; 0 without an open window. */
  requests(now: Instant): number {
    return this.isOpen(now) ? this.#requests : 0;
  }

  /** Whether a window is open. */
  isOpen(now: Instant): boolean {
    return now.monotonicMs < this.#endsAtMs;
  }

  /** Opens a window if no window is open, and counts an earlier process's `forgotten` requests. */
  open(now: Instant, forgotten = 0): void {
    if (this.isOpen(now)) return;
    this.#endsAtMs = Math.ceil(now.monotonicMs + WINDOW_MS);
    this.#resetAtS = resetOfNewWindow(now.wallMs);
    this.#requests = forgotten;
    this.#unrecorded = forgotten;
    this.watermark.set(0, 0);
  }

  /** The window's fields for a record with this watermark. */
  recorded(windowWatermark: number, now: Instant): RecordedWindow {
    const window = { windowEndsAtMs: this.endsAtWallMs(now), windowWatermark };
    const isAllOfIt = windowWatermark >= this.#requests && this.isOpen(now);
    return isAllOfIt && this.#unrecorded > 0 ? { ...window, unrecorded: this.#unrecorded } : window;
  }

  /** Counts requests in the open window. */
  count(requests: number, now: Instant): void {
    this.#requests += requests;
    this.watermark.noteUse(requests, now.monotonicMs);
  }

  /** Counted requests in the open window that may lack a record. */
  get unrecorded(): number {
    return this.#unrecorded;
  }

  /** Counts a request without a record. */
  countUnrecorded(): void {
    this.#requests += 1;
    this.#unrecorded += 1;
  }

  /** Unix second at which the open window ends, or at which a window opened now would end. */
  resetAtS(now: Instant): number {
    this.#resetAtS = this.isOpen(now)
      ? resetOfRunningWindow(this.#resetAtS, this.#endsAtMs, now)
      : resetOfNewWindow(now.wallMs);
    return this.#resetAtS;
  }

  /** Unix milliseconds at which the open window ends; 0 without an open window. */
  endsAtWallMs(now: Instant): number {
    if (!this.isOpen(now)) return 0;
    return Math.round(now.wallMs + this.#endsAtMs - now.monotonicMs);
  }
}

/**
 * Maximum drift between wall and monotonic clock within a window, in milliseconds. After more
 * drift, the announced end follows the wall clock. Rounding errors are smaller, so that `Reset` is
 * stable. Callers do not notice a drift of this size.
 */
const DRIFT_MS_MAX = 10;

/** Maximum rounding for an announced end, in milliseconds: ends are whole seconds, rounded up. */
const ROUNDING_MS = 1_000;

/**
 * Unix second at which a window opened now will end. Rounded up, so that a caller who waits until
 * then meets a new window.
 */
export function resetOfNewWindow(nowMs: number): number {
  return Math.ceil((nowMs + WINDOW_MS) / 1_000);
}

/**
 * Unix second at which a running window ends, given the previously announced end. The monotonic
 * clock measures the window: a wall clock step must neither shorten the window (too many requests)
 * nor extend it (refusals for hours). The announced end changes only after a wall clock step, and
 * is never in the past.
 */
export function resetOfRunningWindow(
  announcedS: number,
  endsAtMonotonicMs: number,
  now: Instant,
): number {
  const announcedMs = announcedS * 1_000;
  const endsAtMs = now.wallMs + endsAtMonotonicMs - now.monotonicMs;
  const isEarly = endsAtMs - announcedMs > DRIFT_MS_MAX || announcedMs < now.wallMs;
  const isLate = announcedMs - endsAtMs > ROUNDING_MS + DRIFT_MS_MAX;
  return isEarly || isLate ? Math.ceil(endsAtMs / 1_000) : announcedS;
}
