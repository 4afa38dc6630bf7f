import { faultFor } from '#errors/fault';

/** Maximum number of concurrent creates per account. Source: decision 154 (instance limit). */
const PLACES_MAX = 1_024;

/** Reservation lifetime for a create, in milliseconds: twice the longest call. */
const PLACE_AGE_MS = 20_000;

/** Places of an account that are reserved for instances before their creates. */
export class Reservations {
  /** Reservations by instance id, with their expiry by the wall clock in Unix milliseconds. */
  readonly #places = new Map<string, number>();

  /** Number of reservations. */
  get size(): number {
    return this.#places.size;
  }

  /** Whether the instance has a reservation. */
  has(instanceId: string): boolean {
    return this.#places.has(instanceId);
  }

  /**
   * Reserves a place for an instance. Reservations count towards `instancesMax` like the `total`
   * instances, and expire after `PLACE_AGE_MS`. Throws `forbidden` if the account is full, and
   * `service_unavailable` if too many creates are in progress. Source: decision 154.
   */
  reserve(instanceId: string, total: number, instancesMax: number, nowMs: number): void {
    if (!this.#places.has(instanceId)) {
      this.expire(nowMs);
      if (this.#places.size >= PLACES_MAX) {
        throw faultFor('overloaded', 'too many creates of one account', { retryAfterS: 1 });
      }
      if (total + this.#places.size >= instancesMax) {
        throw faultFor('instance_limit', `the account's plan allows ${instancesMax} instances`);
      }
    }
    this.#places.set(instanceId, nowMs + PLACE_AGE_MS);
  }

  /** Ends the reservation of an instance. */
  end(instanceId: string): void {
    this.#places.delete(instanceId);
  }

  /** Ends reservations that have expired. */
  expire(nowMs: number): void {
    for (const [instanceId, endMs] of this.#places) {
      if (endMs < nowMs) this.#places.delete(instanceId);
    }
  }
}
