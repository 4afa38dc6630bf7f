import { finished, type Readable } from 'node:stream';
import { faultFor } from '#fault/fault';

/** Requests that are served at once; more are refused. Chosen: people are few. */
const ACTIVE_REQUESTS_MAX = 256;

/** Requests that stores are asked for: each has a slot as long as that takes. */
export class ActiveRequests {
  #count = 0;

  /**
   * What `act` comes to. Throws `overloaded` when there is no slot left. The slot is held until the
   * stream that `sentBy` names in the result has ended or is destroyed.
   */
  async during<Result>(
    act: () => Promise<Result>,
    sentBy: (result: Result) => Readable | undefined = () => undefined,
  ): Promise<Result> {
    if (this.#count >= ACTIVE_REQUESTS_MAX) {
      throw faultFor('overloaded', 'too many requests at once', { retryAfterS: 1 });
    }
    this.#count += 1;
    let content: Readable | undefined;
    try {
      const result = await act();
      content = sentBy(result);
      return result;
    } finally {
      if (content === undefined) this.#count -= 1;
      else
        finished(content, () => {
          this.#count -= 1;
        });
    }
  }
}
