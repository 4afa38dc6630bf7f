import { monthEndOf } from '#accounts/month';
import { type Fault, faultFor } from '#fault/fault';
import { CLOSING_RESERVATIONS_MAX, RESERVATION_AGE_MS } from '#limiter/bounds';
import { DurableWatermark } from '#limiter/durable-watermark';
import type { MeterEvents } from '#limiter/meter-events';
import {
  cyclesByDay,
  dayAt,
  dayOfMonth,
  daysUntil,
  type MonthDays,
  timeOfDay,
} from '#limiter/month-days';
import { monthStepOf } from '#limiter/month-step';
import { type Reservation, Reservations } from '#limiter/reservations';
import type { Instant } from '#platform/instant';
import type { MeterRecord, StoredReservation } from '#storage/meter-store';
import type { CallName } from '#wire/limiter-messages';

const NO_ENDS: readonly number[] = [];

/**
 * The cycles of one account's UTC month: used, and reserved until their calls are settled. A
 * reservation belongs to the month in which it was granted (decision 26).
 */
export class Month {
  /** How many cycles of the present month records allow. */
  readonly watermark = new DurableWatermark();
  #endsAtMs = 0;
  #used = 0;
  #reserved = 0;
  #expired = 0;
  #lost = 0;
  /** The UTC day that is counted, in days since 1970: a clock that steps back stays in it. */
  #day = 0;
  /** `days` in two parts, without a list for the many meters that were used on one day; -1: on none. */
  #firstDay = -1;
  #dayEnds: readonly number[] = NO_ENDS;
  readonly #reservations = new Reservations();
  readonly events: MeterEvents;

  constructor(events: MeterEvents) {
    this.events = events;
  }

  /** Unix milliseconds at which the month ends; it names the month. */
  get endsAtMs(): number {
    return this.#endsAtMs;
  }

  get used(): number {
    return this.#used;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** Of the used ones: reserved and never settled. */
  get expired(): number {
    return this.#expired;
  }

  /** Of the used ones: may have been lost in crashes. */
  get lost(): number {
    return this.#lost;
  }

  /** How many reservations are open. */
  get openReservations(): number {
    return this.#reservations.size;
  }

  /**
   * Continues the month of a record: what its watermark allowed counts as used, except for the
   * reservations that it lists.
   */
  restore(record: MeterRecord, now: Instant): void {
    this.#endsAtMs = record.monthEndsAtMs;
    this.#keep(record.days);
    // What was used by the time of the record was so on its day or before; what was lost is today's.
    this.#turnDay(now, record.cyclesUsed);
    for (const stored of record.reservations) {
      const leftMs = Math.max(0, Math.min(RESERVATION_AGE_MS, stored.expiresAtMs - now.wallMs));
      this.#reservations.restore(stored, Math.ceil(now.monotonicMs + leftMs));
      if (stored.monthEndsAtMs === record.monthEndsAtMs) this.#reserved += stored.cycles;
    }
    this.#used = record.monthWatermark - this.#reserved;
    this.#beginDays();
    this.#expired = record.cyclesExpired;
    const lost = this.#used - record.cyclesUsed;
    this.#lost = record.cyclesLost + lost;
    this.watermark.set(record.monthWatermark, 0);
    if (lost > 0 && record.monthEndsAtMs > now.wallMs) this.events.lost('crash', lost);
  }

  /**
   * Turns to the present month, if the clock can be trusted for that, and takes reservations that
   * have expired as used. The month never goes back: a wall clock that steps back over its end must
   * not open the same quota twice. Returns whether anything has expired.
   */
  bringUpTo(now: Instant): boolean {
    if (now.wallMs >= this.endsAtMs && this.#mayTurn(now)) this.begin(now);
    if (dayAt(now.wallMs) > this.#day) this.#turnDay(now, this.#used);
    const expired = this.#reservations.takeExpired(now.monotonicMs);
    for (const old of expired) {
      const unused = old.cycles - old.used;
      if (old.monthEndsAtMs === this.endsAtMs) this.#expired += unused;
      this.#charge(old, old.cycles);
      this.events.lost('expired', unused);
    }
    return expired.length > 0;
  }

  /** Begins the present month with nothing used, whichever it was before. */
  begin({ wallMs }: Instant): void {
    this.#endsAtMs = monthEndOf(wallMs);
    this.#used = 0;
    this.#reserved = 0;
    this.#expired = 0;
    this.#lost = 0;
    this.#keep(undefined);
    this.#turnDay({ wallMs }, 0);
    this.watermark.set(0, 0);
  }

  /** Which day the used cycles are of, as records have it; undefined: none were used. */
  get days(): MonthDays {
    return this.#firstDay < 0 ? undefined : [this.#firstDay, ...this.#dayEnds];
  }

  /** The cycles of each day of the month up to today; they add up to what is used. */
  get usedByDay(): readonly number[] {
    return cyclesByDay(this.days, this.#used);
  }

  /** Throws `service_unavailable` while there is no month to count in: the clock was never trusted. */
  assertBegun(): void {
    if (this.#endsAtMs === 0) throw wrongClock();
  }

  /** Throws `service_unavailable` while the clock may not begin any month. */
  assertTrusted(): void {
    if (this.events.mayTurn?.('first') === false) throw wrongClock();
  }

  #mayTurn({ wallMs }: Instant): boolean {
    return this.events.mayTurn?.(monthStepOf(this.endsAtMs, wallMs)) ?? true;
  }

  /** Throws `service_unavailable` if a call would need a reservation more than there may be. */
  assertRoomFor(call: CallName): void {
    this.#reservations.assertRoomFor(call);
  }

  /**
   * How many cycles a call needs beyond what it has reserved already: of all calls with one name at
   * most one is ever committed, so they share one reservation.
   */
  missingFor(call: CallName, cycles: number): number {
    const open = this.#reservations.find(call);
    const held = open?.monthEndsAtMs === this.endsAtMs ? open.cycles : 0;
    return Math.max(0, cycles - held);
  }

  /** Admits a call, and reserves what it is `missing`. */
  reserve(call: CallName, cycles: number, missing: number, now: Instant): void {
    if (missing > 0) {
      this.#reserved += missing;
      this.watermark.noteUse(missing, now.monotonicMs);
    }
    const open = this.#reservations.find(call);
    if (open === undefined) {
      if (missing > 0) this.#reservations.open(call, cycles, this.endsAtMs, now.monotonicMs);
      return;
    }
    open.callsOpen += 1;
    if (missing > 0) {
      if (open.monthEndsAtMs !== this.endsAtMs) open.used = 0;
      open.cycles = cycles;
      open.monthEndsAtMs = this.endsAtMs;
    }
  }

  /**
   * Commits the cycles that a call used of its reservation. The rest is released only when every
   * call that shares the reservation has reported: the refusal or replay of one must not release
   * what another is using. Returns false when the call has no reservation: that changes nothing.
   */
  settle(call: CallName, cyclesUsed: number): boolean {
    const open = this.#reservations.find(call);
    if (open === undefined) return false;
    open.callsOpen -= 1;
    open.used = Math.max(open.used, Math.min(cyclesUsed, open.cycles));
    if (open.callsOpen > 0 && open.used < open.cycles) return true;
    this.#reservations.close(call.callId);
    this.#charge(open, open.used);
    return true;
  }

  /** The open reservations as a closing record lists them: the newest, as many as it may hold. */
  stored(now: Instant): StoredReservation[] {
    return this.#reservations.stored(now, CLOSING_RESERVATIONS_MAX);
  }

  /** Frees what nothing needs while no call is open. */
  shrink(): void {
    this.#reservations.shrink();
  }

  #turnDay({ wallMs }: Pick<Instant, 'wallMs'>, used: number): void {
    this.#day = dayAt(wallMs);
    this.#keep(daysUntil(this.days, used, this.#dayOfMonth));
  }

  /** The first cycles of the month are today's. */
  #beginDays(): void {
    if (this.#firstDay < 0 && this.#used > 0) this.#firstDay = this.#dayOfMonth;
  }

  get #dayOfMonth(): number {
    return dayOfMonth(this.#endsAtMs, timeOfDay(this.#day));
  }

  #keep(days: MonthDays): void {
    const [first = -1, ...ends] = days ?? [];
    this.#firstDay = first;
    this.#dayEnds = ends.length === 0 ? NO_ENDS : ends;
  }

  /** Turns reserved into used cycles; what a past month's calls used or left is not this month's. */
  #charge(reservation: Reservation, used: number): void {
    if (reservation.monthEndsAtMs !== this.endsAtMs) return;
    this.#reserved -= reservation.cycles;
    this.#used += used;
    this.#beginDays();
  }
}

function wrongClock(): Fault {
  return faultFor('limiter_unavailable', 'the clock of this limiter is wrong', { retryAfterS: 1 });
}
