/* An account's monthly quota: cycles are reserved, charged and refunded. */
import assert from 'node:assert/strict';
import { monthEndOf } from '#accounts/quota-windows';
import { type Fault, faultFor } from '#errors/fault';
import type { MeterUsage, MonthUsage } from '#grpc/admin';
import type { CallName, SettleCall } from '#grpc/limiter-messages';
import { type MeterEvents, monthStepOf } from '#limiter/meter/events';
import {
  cyclesByDay,
  DailyCycles,
  DurableWatermark,
  dayAt,
  dayOfMonth,
  type KeyCount,
  KeyCounts,
  timeOfDay,
} from '#limiter/meter/usage';
import {
  CLOSING_RESERVATIONS_MAX,
  RESERVATION_AGE_MS,
  RESERVATIONS_MAX,
} from '#limiter/quota-bounds';
import type { Instant } from '#stdlib/clock';
import { NumberMap } from '#stdlib/hash-map';
import {
  type FinishedMonth,
  type MeterRecord,
  MONTHS_KEPT,
  type StoredReservation,
} from '#storage/ports/meters';

const NO_MONTHS: readonly FinishedMonth[] = [];
const NO_KEYS: FinishedMonth['keys'] = [];

/** The fields of a record that describe the month, without reservations. */
type MonthRecord = Omit<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'reservations'>;

/**
 * An account's cycles in a UTC month: used, or reserved until settlement. A reservation belongs to
 * its grant's month (decision 25).
 */
export class Month {
  /** Durable upper bound for cycles in the present month. */
  readonly watermark = new DurableWatermark();
  #endsAtMs = 0;
  readonly #cycles = new DailyCycles();
  /** Used cycles by key. */
  readonly #keys = new KeyCounts();
  #reserved = 0;
  #expired = 0;
  #lost = 0;
  /** Current UTC day, in days since 1970. Never goes back, even if the clock does. */
  #day = 0;
  /** Index of `#day` in the month. */
  #today = 0;
  /** Finished months that the store may not have yet. */
  #finished = NO_MONTHS;
  /** Created on first use and dropped when empty, because an idle account has none. */
  #reservations: Reservations | undefined;
  /** Number of the newest reservation. */
  #lastNumber = 0;
  readonly events: MeterEvents;

  constructor(events: MeterEvents) {
    this.events = events;
  }

  /** Month end in Unix milliseconds; also identifies the month. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  get used(): number {
    return this.#cycles.used;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Charged cycles whose use no edge reported, mostly of reservations without settlement. */
  get expired(): number {
    return this.#expired;
  }

  /** Used cycles that crashes may have lost. */
  get lost(): number {
    return this.#lost;
  }

  /** Estimated memory for the counts by key, in bytes. */
  get keyBytes(): number {
    return this.#keys.bytes;
  }

  /** Finished months that the store may not have yet, oldest first. */
  get finished(): readonly FinishedMonth[] {
    return this.#finished;
  }

  /** Number of open reservations. */
  get openReservations(): number {
    return this.#reservations?.size ?? 0;
  }

  /**
   * Continues the month of a record. Charges all cycles up to the watermark as used, except the
   * reservations in the record.
   */
  restore(record: MeterRecord, now: Instant): void {
    this.#endsAtMs = record.monthEndsAtMs;
    this.#finished = record.finished ?? NO_MONTHS;
    this.#beginDay(now);
    // The record's used cycles belong to its day or earlier; lost cycles belong to today.
    this.#cycles.restore(record.days, record.cyclesUsed, this.#today);
    this.#keys.restore(record.keys, this.#today);
    for (const stored of record.reservations) {
      const leftMs = Math.max(0, Math.min(RESERVATION_AGE_MS, stored.expiresAtMs - now.wallMs));
      const isPresent = stored.monthEndsAtMs === record.monthEndsAtMs;
      const key = isPresent && stored.key !== undefined ? this.#keys.of(stored.key) : undefined;
      this.#opened.restore(stored, key, Math.ceil(now.monotonicMs + leftMs));
      if (isPresent) this.#reserved += stored.cycles;
    }
    const lost = record.monthWatermark - this.#reserved - record.cyclesUsed;
    this.#cycles.add(lost, this.#today);
    this.#expired = record.cyclesExpired;
    this.#lost = record.cyclesLost + lost;
    this.watermark.set(record.monthWatermark, 0);
    if (lost > 0 && record.monthEndsAtMs > now.wallMs) this.events.lost('crash', lost);
  }

  /**
   * Starts the present month if the clock is trusted, and charges expired reservations as used.
   * Months never go back: a wall clock that steps back over the month's end must not grant the same
   * quota twice. Returns whether a reservation expired.
   */
  bringUpTo(now: Instant): boolean {
    if (now.wallMs >= this.endsAtMs && this.#mayTurn(now)) {
      this.#finish();
      this.begin(now);
    }
    if (dayAt(now.wallMs) > this.#day) this.#turnDay(now);
    const expired = this.#reservations?.takeExpired(now.monotonicMs) ?? NONE;
    for (const old of expired) this.#charge(old, old.cycles, old.cycles - old.used);
    return expired.length > 0;
  }

  /** Begins the present month without usage, whatever the previous month was. */
  begin(now: Instant): void {
    this.#endsAtMs = monthEndOf(now.wallMs);
    this.#beginDay(now);
    this.#cycles.restore(undefined, 0, this.#today);
    this.#keys.restore(undefined, this.#today);
    this.#reserved = 0;
    this.#expired = 0;
    this.#lost = 0;
    this.watermark.set(0, 0);
  }

  /** The month's fields for a record with this watermark. */
  recorded(monthWatermark: number): MonthRecord {
    const { days } = this.#cycles;
    const keys = this.#keys.stored;
    return {
      monthEndsAtMs: this.#endsAtMs,
      monthWatermark,
      cyclesUsed: this.used,
      cyclesExpired: this.#expired,
      cyclesLost: this.#lost,
      ...(days !== undefined && { days }),
      ...(keys !== undefined && { keys }),
      ...(this.#finished.length > 0 && { finished: this.#finished }),
    };
  }

  /** The month's present usage. */
  get present(): FinishedMonth {
    const { used: cyclesUsed, days = [this.#today] } = this.#cycles;
    return { endsAtMs: this.#endsAtMs, cyclesUsed, days, keys: this.#keys.stored ?? NO_KEYS };
  }

  /** Drops finished months that the store has. */
  forgetFinished(stored: readonly FinishedMonth[] = NO_MONTHS): void {
    if (stored.length === 0) return;
    const left = this.#finished.filter((month) => !stored.includes(month));
    this.#finished = left.length === 0 ? NO_MONTHS : left;
  }

  /** Throws `service_unavailable` before a trusted clock has set the first month. */
  assertBegun(): void {
    if (this.#endsAtMs === 0) throw wrongClock();
  }

  /** Throws `service_unavailable` if the clock is not trusted to begin a month. */
  assertTrusted(): void {
    if (this.events.mayTurn?.('first') === false) throw wrongClock();
  }

  #mayTurn({ wallMs }: Instant): boolean {
    return this.events.mayTurn?.(monthStepOf(this.endsAtMs, wallMs)) ?? true;
  }

  /** Throws `service_unavailable` if the call needs a reservation beyond the bound. */
  assertRoomFor(call: CallName): void {
    this.#reservations?.assertRoomFor(call);
  }

  /**
   * Cycles that a call needs beyond its open reservation. Calls with the same name share a
   * reservation, because at most one of these calls commits.
   */
  missingFor(call: CallName, cycles: number): number {
    const open = this.#reservations?.find(call);
    const held = open?.monthEndsAtMs === this.endsAtMs ? open.cycles : 0;
    return Math.max(0, cycles - held);
  }

  /**
   * Admits a call and reserves the `missing` cycles. `keyDigest` is empty if no key is charged.
   * Returns the call's reservation number; undefined without a numbered reservation.
   */
  reserve(
    call: CallName,
    cycles: number,
    missing: number,
    keyDigest: string,
    now: Instant,
  ): number | undefined {
    const key = missing > 0 && keyDigest !== '' ? this.#keys.of(keyDigest) : undefined;
    if (missing > 0) {
      this.#reserved += missing;
      this.watermark.noteUse(missing, now.monotonicMs);
    }
    const open = this.#reservations?.find(call);
    if (open === undefined) {
      if (missing === 0) return undefined;
      return this.#open(call, cycles, key, now);
    }
    open.callsOpen += 1;
    if (missing > 0) {
      if (open.monthEndsAtMs !== this.endsAtMs) open.used = 0;
      open.cycles = cycles;
      open.monthEndsAtMs = this.endsAtMs;
      open.key = key;
    }
    return open.number;
  }

  /**
   * Charges the cycles that a call used. The rest is refunded after all calls that share the
   * reservation have been settled. Otherwise a refusal or replay could refund cycles that another
   * call is using. Returns false, without a change, if the call has no reservation or the
   * settlement names another reservation: such a settlement is a late duplicate.
   */
  settle(call: SettleCall): boolean {
    const { cyclesUsed, cyclesUnknown = 0, reservation } = call;
    const open = this.#reservations?.find(call);
    if (open === undefined) return false;
    const isNumbered = reservation !== undefined && open.number !== undefined;
    if (isNumbered && reservation !== open.number) return false;
    open.callsOpen -= 1;
    const known = Math.min(cyclesUsed, open.cycles);
    const unknown = Math.min(cyclesUnknown, open.cycles - known);
    open.used = Math.max(open.used, known + unknown);
    if (open.callsOpen > 0 && open.used < open.cycles) return true;
    this.#reservations?.close(call.callId);
    this.#charge(open, open.used, unknown);
    return true;
  }

  /** The newest open reservations for a closing record, at most `CLOSING_RESERVATIONS_MAX`. */
  stored(now: Instant): StoredReservation[] {
    return this.#reservations?.stored(now, CLOSING_RESERVATIONS_MAX) ?? [];
  }

  /** Frees memory that is needed only for open calls. */
  shrink(): void {
    if (this.openReservations === 0) this.#reservations = undefined;
  }

  get #opened(): Reservations {
    this.#reservations ??= new Reservations();
    return this.#reservations;
  }

  /**
   * Opens a reservation for a call, and returns its number. Numbers start from the time, so that
   * they differ from the numbers of earlier meters.
   */
  #open(call: CallName, cycles: number, key: KeyCount | undefined, { monotonicMs }: Instant) {
    this.#lastNumber = Math.max(this.#lastNumber + 1, Math.floor(monotonicMs));
    const granted = { cycles, monthEndsAtMs: this.endsAtMs, key };
    this.#opened.open(call, this.#lastNumber, granted, monotonicMs);
    return this.#lastNumber;
  }

  #turnDay(now: Instant): void {
    this.#beginDay(now);
    this.#cycles.turnDay(this.#today);
    this.#keys.turnDay(this.#today);
  }

  #beginDay({ wallMs }: Instant): void {
    this.#day = dayAt(wallMs);
    this.#today = dayOfMonth(this.#endsAtMs, timeOfDay(this.#day));
  }

  /** Adds the usage of the ended month to the finished months. */
  #finish(): void {
    if (this.used === 0) return;
    // A wrong clock may have ended this month before: replace the earlier entry.
    const others = this.#finished.filter(({ endsAtMs }) => endsAtMs !== this.#endsAtMs);
    this.#finished = [...others, this.present].slice(-MONTHS_KEPT);
  }

  /**
   * Turns reserved cycles into used cycles. `unknown`: part of `used` that no edge confirmed. A past
   * month's reservations do not affect the present month.
   */
  #charge(reservation: Reservation, used: number, unknown: number): void {
    if (unknown > 0) this.events.lost('expired', unknown);
    if (reservation.monthEndsAtMs !== this.endsAtMs) return;
    this.#reserved -= reservation.cycles;
    this.#expired += unknown;
    this.#cycles.add(used, this.#today);
    reservation.key?.add(used, this.#today);
  }
}

function wrongClock(): Fault {
  return faultFor('limiter_unavailable', 'the clock of this limiter is wrong', { retryAfterS: 1 });
}

/** Cycles held for a call until settlement. */
type Reservation = {
  /** Distinguishes the same call's successive reservations; undefined after a handoff. */
  readonly number: number | undefined;
  readonly callId: number;
  readonly callTag: number;
  cycles: number;
  /** Most used cycles reported by any call with this reservation. */
  used: number;
  /** Admitted, unsettled calls with this name. */
  callsOpen: number;
  /** The grant month's end, in Unix milliseconds. */
  monthEndsAtMs: number;
  /** The charged key's count; undefined if only the month is charged. */
  key: KeyCount | undefined;
  readonly expiresAtMs: number;
};

const NONE: readonly Reservation[] = [];

/** Expiry granularity, in milliseconds. Limits scans to ten per second. */
const EXPIRY_GRAIN_MS = 100;

/**
 * An account's open reservations, by call id. Without timers: the meter removes expired
 * reservations at its next call.
 */
class Reservations {
  readonly #open = new NumberMap<Reservation>();
  /** Monotonic time in milliseconds before which no open reservation expires. */
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  /** Number of open reservations. */
  get size(): number {
    return this.#open.size;
  }

  /** The open reservation with the call's id and tag. */
  find({ callId, callTag }: CallName): Reservation | undefined {
    const open = this.#open.get(callId);
    return open?.callTag === callTag ? open : undefined;
  }

  /**
   * Throws `service_unavailable` if the call needs a reservation beyond the bound. Also throws if
   * another call has the same id, because a shared reservation is charged once (decision 146).
   */
  assertRoomFor({ callId, callTag }: CallName): void {
    const open = this.#open.get(callId);
    if (open === undefined && this.size < RESERVATIONS_MAX) return;
    if (open?.callTag === callTag) return;
    const text = 'too many calls of this account are open';
    throw faultFor('overloaded', text, { retryAfterS: 1 });
  }

  /** Opens a reservation for a call. */
  open(
    { callId, callTag }: CallName,
    number: number,
    granted: Pick<Reservation, 'cycles' | 'monthEndsAtMs' | 'key'>,
    monotonicMs: number,
  ): void {
    assert(this.#open.get(callId) === undefined, 'a call must have at most one reservation');
    const expiresAtMs = wholeGrains(monotonicMs + RESERVATION_AGE_MS);
    this.#add({ number, callId, callTag, used: 0, callsOpen: 1, ...granted, expiresAtMs });
  }

  /** Restores another node's reservation, valid until `expiresAtMs` (monotonic). */
  restore(stored: StoredReservation, key: KeyCount | undefined, expiresAtMs: number): void {
    const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs } = stored;
    const counts = { cycles, used, callsOpen };
    this.#add({ number: undefined, callId, callTag, ...counts, monthEndsAtMs, key, expiresAtMs });
  }

  /** The newest `count` reservations for the account's next owner, oldest first. */
  stored(now: Instant, count: number): StoredReservation[] {
    const oldestFirst = this.#open.values().sort((a, b) => a.expiresAtMs - b.expiresAtMs);
    return oldestFirst.slice(-count).map((reservation) => {
      const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs, key } = reservation;
      const leftMs = reservation.expiresAtMs - now.monotonicMs;
      const expiresAtMs = Math.max(0, Math.round(now.wallMs + leftMs));
      const stored = { callId, callTag, cycles, used, callsOpen, monthEndsAtMs, expiresAtMs };
      return key === undefined ? stored : { ...stored, key: key.prefix };
    });
  }

  /** Removes a reservation. */
  close(callId: number): void {
    this.#open.delete(callId);
  }

  /** Removes and returns expired reservations, in any order. */
  takeExpired(monotonicMs: number): readonly Reservation[] {
    if (monotonicMs < this.#nextExpiryMs) return NONE;
    const expired: Reservation[] = [];
    this.#nextExpiryMs = wholeGrains(monotonicMs + RESERVATION_AGE_MS);
    for (const reservation of this.#open.values()) {
      const { callId, expiresAtMs } = reservation;
      if (expiresAtMs > monotonicMs) {
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs);
      } else {
        expired.push(reservation);
        this.close(callId);
      }
    }
    return expired;
  }

  #add(reservation: Reservation): void {
    const { callId, expiresAtMs } = reservation;
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs);
    this.#open.set(callId, reservation);
  }
}

function wholeGrains(timeMs: number): number {
  return Math.ceil(timeMs / EXPIRY_GRAIN_MS) * EXPIRY_GRAIN_MS;
}

/** A meter's month usage, without limits and window. */
export function usageOfMonth(
  month: Month,
): Omit<MeterUsage, 'limits' | 'requestsInWindow' | 'windowResetAtS' | 'windowWatermark'> {
  const { cyclesByDay: byDay, keys } = usageOf(month.present);
  return {
    cyclesUsed: month.used,
    cyclesReserved: month.reserved,
    monthResetAtS: month.endsAtMs / 1_000,
    monthWatermark: month.watermark.value,
    cyclesExpired: month.expired,
    cyclesLost: month.lost,
    cyclesByDay: byDay,
    keys,
    finishedMonths: month.finished.map(usageOf),
  };
}

/**
 * An account's months, newest first: the present month and finished months. For a finished month,
 * the meter's copy overrides the stored copy.
 */
export function monthsOf(usage: MeterUsage, stored: readonly FinishedMonth[]): MonthUsage[] {
  const { cyclesByDay: byDay, keys, finishedMonths } = usage;
  const present = { endsAtMs: usage.monthResetAtS * 1_000, cyclesByDay: byDay, keys };
  const past = new Map(stored.map((month) => [month.endsAtMs, usageOf(month)]));
  for (const month of finishedMonths) past.set(month.endsAtMs, month);
  const over = [...past.values()]
    .filter(({ endsAtMs }) => endsAtMs < present.endsAtMs)
    .sort((a, b) => b.endsAtMs - a.endsAtMs);
  return [present, ...over.slice(0, MONTHS_KEPT)];
}

/** A month with cycles per day; the list is empty if no cycles were used. */
function usageOf({ endsAtMs, cyclesUsed, days, keys }: FinishedMonth): MonthUsage {
  return {
    endsAtMs,
    cyclesByDay: cyclesUsed === 0 ? [] : cyclesByDay(days, cyclesUsed),
    keys: keys
      .filter(({ cycles }) => cycles > 0)
      .map((key) => ({ prefix: key.prefix, cyclesByDay: cyclesByDay(key.days, key.cycles) })),
  };
}
