import assert from 'node:assert/strict';
import { faultFor } from '#fault/fault';
import { RESERVATION_AGE_MS, RESERVATIONS_MAX } from '#limiter/bounds';
import type { KeyCount } from '#limiter/meter/usage';
import type { Instant } from '#platform/clock';
import { NumberMap } from '#platform/number-map';
import type { StoredReservation } from '#storage/ports/meters';
import type { CallName } from '#wire/limiter-messages';

/** Cycles that are held for a call until it reports how many it used. */
export type Reservation = {
  readonly callId: number;
  readonly callTag: number;
  cycles: number;
  /** The most that any of its calls reported. */
  used: number;
  /** Calls admitted under this name that have not been settled. */
  callsOpen: number;
  /** Which month the cycles were granted in: Unix milliseconds of its end. */
  monthEndsAtMs: number;
  /** What counts its cycles besides the month; undefined: nothing does. */
  key: KeyCount | undefined;
  readonly expiresAtMs: number;
};

const NONE: readonly Reservation[] = [];

/** Reservations expire at whole tenths of a second: all are scanned at most ten times a second. */
const EXPIRY_GRAIN_MS = 100;

/**
 * The open reservations of one account by call id. Nothing runs on a timer: those that are too old
 * are found when the meter is next looked at.
 */
export class Reservations {
  #open: NumberMap<Reservation> | undefined;
  /** Nothing expires before this monotonic time. */
  #nextExpiryMs = 0;

  /** How many are open. */
  get size(): number {
    return this.#open?.size ?? 0;
  }

  /** The open reservation of a call. */
  find({ callId, callTag }: CallName): Reservation | undefined {
    const open = this.#open?.get(callId);
    return open?.callTag === callTag ? open : undefined;
  }

  /**
   * Throws `service_unavailable` if a call would need a reservation more than there may be, or of
   * an id that another call has: what is shared is charged once (decision 146).
   */
  assertRoomFor({ callId, callTag }: CallName): void {
    const open = this.#open?.get(callId);
    if (open === undefined && this.size < RESERVATIONS_MAX) return;
    if (open?.callTag === callTag) return;
    const text = 'too many calls of this account are open';
    throw faultFor('overloaded', text, { retryAfterS: 1 });
  }

  /** Opens a reservation for one call. */
  open(
    { callId, callTag }: CallName,
    cycles: number,
    monthEndsAtMs: number,
    key: KeyCount | undefined,
    monotonicMs: number,
  ): void {
    assert(this.#open?.get(callId) === undefined, 'a call has one reservation');
    const expiresAtMs = wholeGrains(monotonicMs + RESERVATION_AGE_MS);
    this.#add({ callId, callTag, cycles, used: 0, callsOpen: 1, monthEndsAtMs, key, expiresAtMs });
  }

  /** Restores one that another node opened, until `expiresAtMs` (monotonic). */
  restore(stored: StoredReservation, key: KeyCount | undefined, expiresAtMs: number): void {
    const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs } = stored;
    this.#add({ callId, callTag, cycles, used, callsOpen, monthEndsAtMs, key, expiresAtMs });
  }

  /** The newest `count` for the account's next owner, oldest first. */
  stored(now: Instant, count: number): StoredReservation[] {
    const oldestFirst = this.#all().sort((a, b) => a.expiresAtMs - b.expiresAtMs);
    return oldestFirst.slice(-count).map((reservation) => {
      const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs, key } = reservation;
      const leftMs = reservation.expiresAtMs - now.monotonicMs;
      const expiresAtMs = Math.max(0, Math.round(now.wallMs + leftMs));
      const stored = { callId, callTag, cycles, used, callsOpen, monthEndsAtMs, expiresAtMs };
      return key === undefined ? stored : { ...stored, key: key.prefix };
    });
  }

  /** Forgets a reservation. */
  close(callId: number): void {
    this.#open?.delete(callId);
  }

  /** Removes and returns the reservations that were not settled in time, in any order. */
  takeExpired(monotonicMs: number): readonly Reservation[] {
    if (monotonicMs < this.#nextExpiryMs || this.#open === undefined) return NONE;
    const expired: Reservation[] = [];
    this.#nextExpiryMs = wholeGrains(monotonicMs + RESERVATION_AGE_MS);
    for (const reservation of this.#all()) {
      const { callId, expiresAtMs } = reservation;
      if (expiresAtMs > monotonicMs) {
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresAtMs);
      } else {
        expired.push(reservation);
        this.close(callId);
      }
    }
    this.shrink();
    return expired;
  }

  /** Frees the place of reservations when none is open. */
  shrink(): void {
    if (this.size === 0) this.#open = undefined;
  }

  #all(): Reservation[] {
    return this.#open?.values() ?? [];
  }

  #add(reservation: Reservation): void {
    const { callId, expiresAtMs } = reservation;
    this.#nextExpiryMs =
      this.#open === undefined ? expiresAtMs : Math.min(this.#nextExpiryMs, expiresAtMs);
    this.#open ??= new NumberMap();
    this.#open.set(callId, reservation);
  }
}

function wholeGrains(timeMs: number): number {
  return Math.ceil(timeMs / EXPIRY_GRAIN_MS) * EXPIRY_GRAIN_MS;
}
