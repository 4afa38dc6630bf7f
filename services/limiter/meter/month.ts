import { monthEndOf } from '#accounts/windows';
import { type Fault, faultFor } from '#fault/fault';
import { CLOSING_RESERVATIONS_MAX, RESERVATION_AGE_MS } from '#limiter/bounds';
import { DurableWatermark } from '#limiter/meter/durable-watermark';
import { type MeterEvents, monthStepOf } from '#limiter/meter/events';
import { type Reservation, Reservations } from '#limiter/meter/reservations';
import { DailyCycles, dayAt, dayOfMonth, KeyCounts, timeOfDay } from '#limiter/meter/usage';
import type { Instant } from '#platform/clock';
import {
  type FinishedMonth,
  type MeterRecord,
  MONTHS_KEPT,
  type StoredReservation,
} from '#storage/ports/meters';
import type { CallName } from '#wire/limiter-messages';

const NO_MONTHS: readonly FinishedMonth[] = [];
const NO_KEYS: FinishedMonth['keys'] = [];

/** What a record says of a month but for its reservations. */
type MonthRecord = Omit<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'reservations'>;

/**
 * The cycles of one account's UTC month: used, and reserved until their calls are settled. A
 * reservation belongs to the month in which it was granted (decision 25).
 */
export class Month {
  /** How many cycles of the present month records allow. */
  readonly watermark = new DurableWatermark();
  #endsAtMs = 0;
  readonly #cycles = new DailyCycles();
  /** Of the used ones, those of each key. */
  readonly #keys = new KeyCounts();
  #reserved = 0;
  #expired = 0;
  #lost = 0;
  /** The UTC day that is counted, in days since 1970: a clock that steps back stays in it. */
  #day = 0;
  /** Its index in the month. */
  #today = 0;
  /** Months that are over and may not be stored by themselves yet. */
  #finished = NO_MONTHS;
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
    return this.#cycles.used;
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

  /** Bytes of what is counted for each key, estimated. */
  get keyBytes(): number {
    return this.#keys.bytes;
  }

  /** Months that are over and may not be stored by themselves yet, oldest first. */
  get finished(): readonly FinishedMonth[] {
    return this.#finished;
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
    this.#finished = record.finished ?? NO_MONTHS;
    this.#beginDay(now);
    // What was used by the time of the record was so on its day or before; what was lost is today's.
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
   * Turns to the present month, if the clock can be trusted for that, and takes reservations that
   * have expired as used. The month never goes back: a wall clock that steps back over its end must
   * not open the same quota twice. Returns whether anything has expired.
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

  /** Begins the present month with nothing used, whichever it was before. */
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

  /** What a record says of it. */
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

  /** The month as it stands. */
  get present(): FinishedMonth {
    const { used: cyclesUsed, days = [this.#today] } = this.#cycles;
    return { endsAtMs: this.#endsAtMs, cyclesUsed, days, keys: this.#keys.stored ?? NO_KEYS };
  }

  /** These are stored by themselves now. */
  forgetFinished(stored: readonly FinishedMonth[] = NO_MONTHS): void {
    if (stored.length === 0) return;
    const left = this.#finished.filter((month) => !stored.includes(month));
    this.#finished = left.length === 0 ? NO_MONTHS : left;
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

  /** Admits a call, and reserves what it is `missing`, for a key by its digest; empty: for none. */
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

  #turnDay(now: Instant): void {
    this.#beginDay(now);
    this.#cycles.turnDay(this.#today);
    this.#keys.turnDay(this.#today);
  }

  #beginDay({ wallMs }: Instant): void {
    this.#day = dayAt(wallMs);
    this.#today = dayOfMonth(this.#endsAtMs, timeOfDay(this.#day));
  }

  /** Keeps what the month has used, now that it is over. */
  #finish(): void {
    if (this.used === 0) return;
    // One that a wrong clock had ended before is over once more.
    const others = this.#finished.filter(({ endsAtMs }) => endsAtMs !== this.#endsAtMs);
    this.#finished = [...others, this.present].slice(-MONTHS_KEPT);
  }

  /** Turns reserved into used cycles; what a past month's calls used or left is not this month's. */
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
