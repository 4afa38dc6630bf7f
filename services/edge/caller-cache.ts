import type { IncomingMessage } from 'node:http';
import { assertSentOnce, readCaller } from '#edge/credentials';
import type { Caller } from '#edge/exchange';
import { putNewest } from '#edge/put-newest';

/** Keys remembered; beyond, the one that was read first is forgotten. */
const CALLERS_MAX = 10_000;

/**
 * Callers by the header they sent, so that a key's checksum and digest are computed once and not at
 * every request. Remembering says nothing about a key being valid: the limiter is asked all the same.
 */
export class CallerCache {
  readonly #known = new Map<string, Caller>();

  /** The caller of a request. Throws `unauthorized` like `readCaller`. */
  read(request: IncomingMessage): Caller {
    const { authorization } = request.headers;
    const known = authorization === undefined ? undefined : this.#known.get(authorization);
    if (known !== undefined) {
      assertSentOnce(request);
      return known;
    }
    const caller = readCaller(request);
    putNewest(this.#known, authorization ?? '', caller, CALLERS_MAX);
    return caller;
  }
}
