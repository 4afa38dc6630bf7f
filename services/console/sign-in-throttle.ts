import { FailureTable } from '#console/failure-table';
import { networkOf } from '#edge/network-of';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';

/** Who tries, and whose account. */
export type Try = {
  /** What is tried to get into: an email, known or not. */
  readonly email: string;
  readonly address: string;
  /** Of the cookie of a browser that has signed in as this user; undefined: shows none. */
  readonly deviceDigest: string | undefined;
};

/** A try that is counted as failed until it says otherwise. */
export type CountedTry = { readonly succeeded: () => void };

const MINUTE_MS = 60_000;

/** How many tries are free and how long the rest may wait. Source: decision 246. */
const LIMITS = {
  /** One network at one email, and one browser that has been there. */
  pair: { free: 5, waitMsMax: 15 * MINUTE_MS },
  /** One network, whatever it tries, and the /48 around one of IPv6. */
  network: { free: 30, waitMsMax: MINUTE_MS },
  site: { free: 300, waitMsMax: MINUTE_MS },
} as const;

/**
 * Slows down who guesses, and never shuts an owner out: who comes from elsewhere waits the few seconds
 * of `emailWaitMsMax` at most, however many others guess at the same email, and a browser that has
 * signed in before waits for nothing but its own failures. A try counts as failed from its
 * beginning, so that many at once are no way around, and one that is refused does not count. Of this
 * process only: n processes allow n times as much. Source: decision 246.
 */
export class SignInThrottle {
  readonly #clock: Clock;
  readonly #pairs = new FailureTable(LIMITS.pair);
  readonly #networks = new FailureTable(LIMITS.network);
  readonly #sites = new FailureTable(LIMITS.site);
  readonly #emails: FailureTable;

  constructor(clock: Clock, options: { readonly free: number; readonly emailWaitMsMax: number }) {
    this.#clock = clock;
    this.#emails = new FailureTable({ free: options.free, waitMsMax: options.emailWaitMsMax });
  }

  /** Counts a try. Throws `rate_limited` for one that comes too early. */
  begin(attempt: Try): CountedTry {
    const sources = this.#sourcesOf(attempt);
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.max(...sources.map(([table, source]) => table.waitMs(source, nowMs)));
    if (waitMs > 0) {
      const retryAfterS = Math.ceil(waitMs / 1_000);
      throw new Fault('rate_limited', 'too many tries: wait a little', { retryAfterS });
    }
    for (const [table, source] of sources) table.count(source, nowMs);
    return {
      succeeded: () => {
        for (const [table, source] of sources) {
          if (table === this.#pairs) table.clear(source);
          else table.forgive(source, this.#clock.monotonicMs());
        }
      },
    };
  }

  #sourcesOf({ email, address, deviceDigest }: Try): [FailureTable, string][] {
    if (deviceDigest !== undefined) return [[this.#pairs, `${email} device ${deviceDigest}`]];
    const { name, site } = networkOf(address);
    return [
      [this.#pairs, `${email} network ${name}`],
      [this.#emails, email],
      [this.#networks, name],
      ...(site === undefined ? [] : ([[this.#sites, site]] as [FailureTable, string][])),
    ];
  }
}
