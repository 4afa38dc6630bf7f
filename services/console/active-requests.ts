import { faultFor } from '#fault/fault';

/** Requests that are served at once; more are refused. Chosen: people are few. */
const ACTIVE_REQUESTS_MAX = 256;

/** Requests that stores are asked for: each has a slot as long as that takes. */
export class ActiveRequests {
  #count = 0;

  /** What `act` comes to. Throws `overloaded` when there is no slot left. */
  async during<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#count >= ACTIVE_REQUESTS_MAX) {
      throw faultFor('overloaded', 'too many requests at once', { retryAfterS: 1 });
    }
    this.#count += 1;
    try {
      return await act();
    } finally {
      this.#count -= 1;
    }
  }
}
