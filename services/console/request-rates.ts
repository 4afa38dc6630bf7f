import type { Visit } from '#console/visit';
import { networkOf } from '#edge/network-of';
import { Fault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import { putNewest } from '#platform/put-newest';

/** How long requests are counted together, in milliseconds. */
const WINDOW_MS = 60_000;

/** Sources counted by one console; the oldest is forgotten first. About 2 MB. */
const SOURCES_MAX = 10_000;

/** Requests of each kind in a minute. Chosen: far above what a person at a page makes. */
const LIMITS = {
  /** Of one network, without a session: signing in, links. */
  open: 120,
  /** Of one user: reading. */
  read: 300,
  /** Of one user: changing. */
  change: 60,
  /** Of one account: what asks the payment provider, or reads much and answers a file. */
  costly: 10,
} as const;

type Kind = keyof typeof LIMITS;

/** Requests of one source in the window that began at a monotonic time. */
type Counted = { readonly beganMs: number; readonly count: number };

/** How a route counts. */
export type RouteRate = {
  readonly method: string;
  /** Whether the route asks the payment provider, or answers a file of much. */
  readonly isCostly?: boolean;
};

/**
 * Requests a minute of the console's own routes. Calls of instances count as requests of their account
 * instead. Of this process only: n consoles allow n times as much.
 */
export class RequestRates {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Counts a request without a session. Throws `rate_limited` beyond the limit of its network. */
  countOpen({ address }: Visit): void {
    this.#count('open', networkOf(address).name);
  }

  /** Counts a request of a member. Throws `rate_limited` beyond a limit of the user or the account. */
  countOf({ userId, accountId }: { userId: string; accountId: string }, route: RouteRate): void {
    if (route.isCostly === true) this.#count('costly', accountId);
    this.#count(route.method === 'GET' ? 'read' : 'change', userId);
  }

  #count(kind: Kind, source: string): void {
    const name = `${kind} ${source}`;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#counted.get(name);
    const isRunning = known !== undefined && nowMs - known.beganMs < WINDOW_MS;
    const { beganMs, count } = isRunning ? known : { beganMs: nowMs, count: 0 };
    if (count >= LIMITS[kind]) {
      const retryAfterS = Math.max(1, Math.ceil((beganMs + WINDOW_MS - nowMs) / 1_000));
      throw new Fault('rate_limited', 'too many requests: wait a little', { retryAfterS });
    }
    putNewest(this.#counted, name, { beganMs, count: count + 1 }, SOURCES_MAX);
  }
}
