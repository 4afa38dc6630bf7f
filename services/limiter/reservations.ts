import { Fault } from '#fault/fault';
import { RESERVATION_AGE_MS, RESERVATIONS_MAX } from '#limiter/bounds';

/** Cycles that are set aside for a call until it says how many it used. */
export type Reservation = {
  cycles: number;
  /** The most that any of its calls said it used. */
  used: number;
  /** Calls admitted under this id that have not been settled. */
  callsOpen: number;
  /** Which of the meter's months the cycles were granted in. */
  month: number;
  readonly expiresAtMs: number;
};

/**
 * The open reservations of one account by call id, oldest first. Nothing runs on a timer: those
 * that are too old are found when the meter is next looked at.
 */
export class Reservations {
  #open: Map<number, Reservation> | undefined;
  /** Nothing expires before this monotonic time. */
  #nextExpiryMs = Number.POSITIVE_INFINITY;

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
  open(callId: number, cycles: number, month: number, monotonicMs: number): void {
    const expiresAtMs = monotonicMs + RESERVATION_AGE_MS;
    this.#open ??= new Map();
    this.#open.set(callId, { cycles, used: 0, callsOpen: 1, month, expiresAtMs });
    if (expiresAtMs < this.#nextExpiryMs) this.#nextExpiryMs = expiresAtMs;
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
    this.#nextExpiryMs = Number.POSITIVE_INFINITY;
    this.#open = undefined;
    return undefined;
  }
}
