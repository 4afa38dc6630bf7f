import { putNewest } from '#platform/put-newest';
import { CLIENT_LENGTH_MAX } from '#wire/wire-bounds';

/** Keys remembered; beyond, the client of one that was forgotten is sent again. */
const KEYS_MAX = 10_000;

const MINUTE_MS = 60_000;

/**
 * Which keys this edge has reported the client of in the present minute, so that the limiter hears
 * of each once a minute and not with every call.
 */
export class ReportedClients {
  readonly #minutes = new Map<string, number>();

  /** What is sent with a call of the key; undefined: it was sent before in this minute. */
  due(keyDigest: string, userAgent: string | undefined, nowMs: number): string | undefined {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.#minutes.get(keyDigest) === minute) return undefined;
    return clientOf(userAgent);
  }

  /** The limiter has admitted a call that it was sent with. */
  reported(keyDigest: string, nowMs: number): void {
    putNewest(this.#minutes, keyDigest, Math.floor(nowMs / MINUTE_MS), KEYS_MAX);
  }
}

/** A caller's `User-Agent` as it may be stored and printed; empty: it sent none. */
function clientOf(userAgent = ''): string {
  return userAgent.slice(0, CLIENT_LENGTH_MAX).replaceAll(/[^ -~]/g, '?');
}
