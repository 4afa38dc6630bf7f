import assert from 'node:assert/strict';
import { faultFor } from '#errors/fault';
import type { CallName } from '#grpc/limiter-messages';
import { RESERVATION_AGE_MS, RESERVATIONS_MAX } from '#limiter/bounds';
import type { KeyCount } from '#limiter/meter/usage';
import type { Instant } from '#stdlib/clock';
import { NumberMap } from '#stdlib/number-map';
import type { StoredReservation } from '#storage/ports/meters';

/** Cycles held for a call until the call reports how many it used. */
export type Reservation = {
  /** Distinguishes the reservations that one call opens in turn; undefined after a handoff. */
  readonly number: number | undefined;
  readonly callId: number;
  readonly callTag: number;
  cycles: number;
  /** The most cycles that any call of this reservation reported. */
  used: number;
  /** Admitted calls with this name that are not settled. */
  callsOpen: number;
  /** Unix milliseconds at which the month of the grant ends. */
  monthEndsAtMs: number;
  /** Count of the key that is charged besides the month; undefined if no key is. */
  key: KeyCount | undefined;
  readonly expiresAtMs: number;
};

const NONE: readonly Reservation[] = [];

/** Granularity of expiry, in milliseconds: limits scans to ten a second. */
const EXPIRY_GRAIN_MS = 100;

/**
 * The open reservations of one account by call id. There is no timer: the meter removes expired
 * reservations at its next call.
 */
export class Reservations {
  #open: NumberMap<Reservation> | undefined;
  /** Monotonic milliseconds before which no reservation expires. */
  #nextExpiryMs = 0;
  /** Numbers grow with the time, so that they differ from those of this account's earlier meters. */
  #lastNumber = 0;

  /** Number of open reservations. */
  get size(): number {
    return this.#open?.size ?? 0;
  }

  /** The open reservation of a call; undefined if there is none with its id and tag. */
  find({ callId, callTag }: CallName): Reservation | undefined {
    const open = this.#open?.get(callId);
    return open?.callTag === callTag ? open : undefined;
  }

  /**
   * Throws `service_unavailable` if the call needs a reservation and the bound is reached. Also
   * throws if another call has the same id: a shared reservation is charged once (decision 146).
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
    const number = Math.max(this.#lastNumber + 1, Math.floor(monotonicMs));
    this.#lastNumber = number;
    const counts = { cycles, used: 0, callsOpen: 1 };
    this.#add({ number, callId, callTag, ...counts, monthEndsAtMs, key, expiresAtMs });
  }

  /** Restores a reservation of another node, until `expiresAtMs` (monotonic). */
  restore(stored: StoredReservation, key: KeyCount | undefined, expiresAtMs: number): void {
    const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs } = stored;
    const counts = { cycles, used, callsOpen };
    this.#add({ number: undefined, callId, callTag, ...counts, monthEndsAtMs, key, expiresAtMs });
  }

  /** The newest `count` reservations for the account's next owner, oldest first. */
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

  /** Removes a reservation. */
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

  /** Frees the map when no reservation is open. */
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
