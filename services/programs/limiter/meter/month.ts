import { monthEndOf } from '#accounts/windows';
import { type Fault, faultFor } from '#errors/fault';
import type { CallName, SettleCall } from '#grpc/limiter-messages';
import { CLOSING_RESERVATIONS_MAX, RESERVATION_AGE_MS } from '#limiter/bounds';
import { DurableWatermark } from '#limiter/meter/durable-watermark';
import { type MeterEvents, monthStepOf } from '#limiter/meter/events';
import { type Reservation, Reservations } from '#limiter/meter/reservations';
import { DailyCycles, dayAt, dayOfMonth, KeyCounts, timeOfDay } from '#limiter/meter/usage';
import type { Instant } from '#stdlib/clock';
import {
  type FinishedMonth,
  type MeterRecord,
  MONTHS_KEPT,
  type StoredReservation,
} from '#storage/ports/meters';

const NO_MONTHS: readonly FinishedMonth[] = [];
const NO_KEYS: FinishedMonth['keys'] = [];

/** The part of a record about the month, without its reservations. */
type MonthRecord = Omit<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'reservations'>;

/**
 * The cycles of one account's UTC month: used, or reserved until their calls are settled. A
 * reservation belongs to the month in which it was granted (decision 25).
 */
export class Month {
  /** Durable upper bound of cycles in the present month. */
  readonly watermark = new DurableWatermark();
  #endsAtMs = 0;
  readonly #cycles = new DailyCycles();
  /** Used cycles of each key. */
  readonly #keys = new KeyCounts();
  #reserved = 0;
  #expired = 0;
  #lost = 0;
  /** The current UTC day, in days since 1970. The day never goes back when the clock does. */
  #day = 0;
  /** Index of `#day` in the month. */
  #today = 0;
  /** Finished months that may not be stored separately yet. */
  #finished = NO_MONTHS;
  readonly #reservations = new Reservations();
  readonly events: MeterEvents;

  constructor(events: MeterEvents) {
    this.events = events;
  }

  /** Unix milliseconds at which the month ends; also the identifier of the month. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  get used(): number {
    return this.#cycles.used;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Used cycles from reservations that expired without a settlement. */
  get expired(): number {
    return this.#expired;
  }

  /** Used cycles that may have been lost in crashes. */
  get lost(): number {
    return this.#lost;
  }

  /** Estimated bytes of the counts of keys. */
  get keyBytes(): number {
    return this.#keys.bytes;
  }

  /** Finished months that may not be stored separately yet, oldest first. */
  get finished(): readonly FinishedMonth[] {
    return this.#finished;
  }

  /** How many reservations are open. */
  get openReservations(): number {
    return this.#reservations.size;
  }

  /**
   * Continues the month of a record. The cycles that its watermark allowed count as used, except
   * for the listed reservations.
   */
  restore(record: MeterRecord, now: Instant): void {
    this.#endsAtMs = record.monthEndsAtMs;
    this.#finished = record.finished ?? NO_MONTHS;
    this.#beginDay(now);
    // Used cycles of the record belong to the record's day or before; lost cycles belong to today.
    this.#cycles.restore(record.days, record.cyclesUsed, this.#today);
    this.#keys.restore(record.keys, this.#today);
    for (const stored of record.reservations) {
      const leftMs = Math.max(0, Math.min(RESERVATION_AGE_MS, stored.expiresAtMs - now.wallMs));
      const isPresent = stored.monthEndsAtMs === record.monthEndsAtMs;
      const key = isPresent && stored.key !== undefined ? this.#keys.of(stored.key) : undefined;
      this.#reservations.restore(stored, key, Math.ceil(now.monotonicMs + leftMs));
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
   * Starts the present month if the clock is trusted, and charges expired reservations as used. The
   * month never goes back: a wall clock that steps back over its end must not grant the same quota
   * twice. Returns whether a reservation expired.
   */
  bringUpTo(now: Instant): boolean {
    if (now.wallMs >= this.endsAtMs && this.#mayTurn(now)) {
      this.#finish();
      this.begin(now);
    }
    if (dayAt(now.wallMs) > this.#day) this.#turnDay(now);
    const expired = this.#reservations.takeExpired(now.monotonicMs);
    for (const old of expired) {
      const unused = old.cycles - old.used;
      if (old.monthEndsAtMs === this.endsAtMs) this.#expired += unused;
      this.#charge(old, old.cycles);
      this.events.lost('expired', unused);
    }
    return expired.length > 0;
  }

  /** Begins the present month with no usage, whatever the month was before. */
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

  /** The record of the month with this watermark. */
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

  /** Present usage of the month. */
  get present(): FinishedMonth {
    const { used: cyclesUsed, days = [this.#today] } = this.#cycles;
    return { endsAtMs: this.#endsAtMs, cyclesUsed, days, keys: this.#keys.stored ?? NO_KEYS };
  }

  /** Drops finished months that the store now has. */
  forgetFinished(stored: readonly FinishedMonth[] = NO_MONTHS): void {
    if (stored.length === 0) return;
    const left = this.#finished.filter((month) => !stored.includes(month));
    this.#finished = left.length === 0 ? NO_MONTHS : left;
  }

  /** Throws `service_unavailable` until a trusted clock has set the first month. */
  assertBegun(): void {
    if (this.#endsAtMs === 0) throw wrongClock();
  }

  /** Throws `service_unavailable` while the clock is not trusted to begin a month. */
  assertTrusted(): void {
    if (this.events.mayTurn?.('first') === false) throw wrongClock();
  }

  #mayTurn({ wallMs }: Instant): boolean {
    return this.events.mayTurn?.(monthStepOf(this.endsAtMs, wallMs)) ?? true;
  }

  /** Throws `service_unavailable` if the call needs a reservation and the bound is reached. */
  assertRoomFor(call: CallName): void {
    this.#reservations.assertRoomFor(call);
  }

  /** Number of the open reservation of a call; undefined if there is none or it has no number. */
  reservationOf(call: CallName): number | undefined {
    return this.#reservations.find(call)?.number;
  }

  /**
   * Number of cycles that a call needs beyond its open reservation. Calls with the same name share
   * one reservation, because at most one of them commits.
   */
  missingFor(call: CallName, cycles: number): number {
    const open = this.#reservations.find(call);
    const held = open?.monthEndsAtMs === this.endsAtMs ? open.cycles : 0;
    return Math.max(0, cycles - held);
  }

  /** Admits a call and reserves the `missing` cycles. `keyDigest` is empty if no key is charged. */
  reserve(call: CallName, cycles: number, missing: number, keyDigest: string, now: Instant): void {
    const key = missing > 0 && keyDigest !== '' ? this.#keys.of(keyDigest) : undefined;
    if (missing > 0) {
      this.#reserved += missing;
      this.watermark.noteUse(missing, now.monotonicMs);
    }
    const open = this.#reservations.find(call);
    if (open === undefined) {
      if (missing > 0) this.#reservations.open(call, cycles, this.endsAtMs, key, now.monotonicMs);
      return;
    }
    open.callsOpen += 1;
    if (missing > 0) {
      if (open.monthEndsAtMs !== this.endsAtMs) open.used = 0;
      open.cycles = cycles;
      open.monthEndsAtMs = this.endsAtMs;
      open.key = key;
    }
  }

  /**
   * Commits the cycles that a call used of its reservation. The rest is refunded when every call
   * that shares the reservation has reported. Otherwise a refusal or replay would refund cycles
   * that another call is using. Returns false, and changes nothing, if the call has no reservation,
   * or has another than the settlement names: that settlement is a late copy.
   */
  settle(call: SettleCall): boolean {
    const { cyclesUsed, reservation } = call;
    const open = this.#reservations.find(call);
    if (open === undefined) return false;
    const isOther = reservation !== undefined && reservation !== open.number;
    if (isOther && open.number !== undefined) return false;
    open.callsOpen -= 1;
    open.used = Math.max(open.used, Math.min(cyclesUsed, open.cycles));
    if (open.callsOpen > 0 && open.used < open.cycles) return true;
    this.#reservations.close(call.callId);
    this.#charge(open, open.used);
    return true;
  }

  /** The newest open reservations for a closing record, at most `CLOSING_RESERVATIONS_MAX`. */
  stored(now: Instant): StoredReservation[] {
    return this.#reservations.stored(now, CLOSING_RESERVATIONS_MAX);
  }

  /** Frees memory that is only needed while calls are open. */
  shrink(): void {
    this.#reservations.shrink();
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

  /** Keeps the usage of the month that has ended. */
  #finish(): void {
    if (this.used === 0) return;
    // A wrong clock may have ended this month before: replace that entry.
    const others = this.#finished.filter(({ endsAtMs }) => endsAtMs !== this.#endsAtMs);
    this.#finished = [...others, this.present].slice(-MONTHS_KEPT);
  }

  /**
   * Turns reserved into used cycles. Reservations of a past month do not change the present month.
   */
  #charge(reservation: Reservation, used: number): void {
    if (reservation.monthEndsAtMs !== this.endsAtMs) return;
    this.#reserved -= reservation.cycles;
    this.#cycles.add(used, this.#today);
    reservation.key?.add(used, this.#today);
  }
}

function wrongClock(): Fault {
  return faultFor('limiter_unavailable', 'the clock of this limiter is wrong', { retryAfterS: 1 });
}
