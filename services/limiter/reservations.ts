import type { Instant } from '#accounts/minute-window';
import { Fault } from '#fault/fault';
import { RESERVATION_AGE_MS, RESERVATIONS_MAX } from '#limiter/bounds';
import type { StoredReservation } from '#storage/meter-store';

/** Cycles that are set aside for a call until it says how many it used. */
export type Reservation = {
  cycles: number;
  /** The most that any of its calls said it used. */
  used: number;
  /** Calls admitted under this id that have not been settled. */
  callsOpen: number;
  /** Which month the cycles were granted in: Unix milliseconds of its end. */
  monthEndsAtMs: number;
  readonly expiresAtMs: number;
};

/**
 * The open reservations of one account by call id, oldest first. Nothing runs on a timer: those
 * that are too old are found when the meter is next looked at.
 */
export class Reservations {
  #open: Map<number, Reservation> | undefined;
  /** Nothing expires before this monotonic time. Whole, like all times here: V8 boxes others. */
  #nextExpiryMs = 0;

  /** How many are open. */
  get size(): number {
    return this.#open?.size ?? 0;
  }

  /** The open reservation of a call. */
  find(callId: number): Reservation | undefined {
    return this.#open?.get(callId);
  }

  /** Throws `service_unavailable` if a call would need a reservation more than there may be. */
  assertRoomFor(callId: number): void {
    if (this.size < RESERVATIONS_MAX || this.#open?.has(callId)) return;
    const options = { reason: 'overloaded', retryAfterS: 1 } as const;
    throw new Fault('service_unavailable', 'too many calls of this account are open', options);
  }

  /** Opens a reservation for one call. */
  open(callId: number, cycles: number, monthEndsAtMs: number, monotonicMs: number): void {
    const expiresAtMs = Math.ceil(monotonicMs + RESERVATION_AGE_MS);
    this.#add(callId, { cycles, used: 0, callsOpen: 1, monthEndsAtMs, expiresAtMs });
  }

  /** Goes on with one that another node opened, until `expiresAtMs` (monotonic). Oldest first. */
  restore(stored: StoredReservation, expiresAtMs: number): void {
    const { callId, cycles, used, callsOpen, monthEndsAtMs } = stored;
    this.#add(callId, { cycles, used, callsOpen, monthEndsAtMs, expiresAtMs });
  }

  /** The newest `count` for whoever has the account next, oldest first. */
  stored(now: Instant, count: number): StoredReservation[] {
    const newest = [...(this.#open ?? [])].slice(-count);
    return newest.map(([callId, { cycles, used, callsOpen, monthEndsAtMs, expiresAtMs }]) => {
      const atMs = Math.max(0, Math.round(now.nowMs + expiresAtMs - now.monotonicMs));
      return { callId, cycles, used, callsOpen, monthEndsAtMs, expiresAtMs: atMs };
    });
  }

  /** Forgets a reservation. */
  close(callId: number): void {
    this.#open?.delete(callId);
  }

  /** Takes out a reservation that nobody settled in time, oldest first; undefined if there is none. */
  takeExpired(monotonicMs: number): Reservation | undefined {
    if (monotonicMs < this.#nextExpiryMs || this.#open === undefined) return undefined;
    for (const [callId, reservation] of this.#open) {
      this.#nextExpiryMs = reservation.expiresAtMs;
      if (monotonicMs < reservation.expiresAtMs) return undefined;
      this.#open.delete(callId);
      return reservation;
    }
    this.#open = undefined;
    return undefined;
  }

  /** Frees the place of reservations when none is open. */
  shrink(): void {
    if (this.size === 0) this.#open = undefined;
  }

  #add(callId: number, reservation: Reservation): void {
    const { expiresAtMs } = reservation;
    this.#nextExpiryMs =
      this.#open === undefined ? expiresAtMs : Math.min(this.#nextExpiryMs, expiresAtMs);
    this.#open ??= new Map();
    this.#open.set(callId, reservation);
  }
}
