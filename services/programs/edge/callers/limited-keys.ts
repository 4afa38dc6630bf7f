import type { AccountNews } from '#accounts/account';
import type { NeededRight } from '#accounts/api-key';
import type { Allowance } from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import { putNewest } from '#stdlib/put-newest';

/** Maximum number of cached refusals, and of recent changes. The oldest is evicted first. */
const ENTRIES_MAX = 10_000;

/**
 * Maximum age of a cached refusal, in milliseconds: announcements can get lost. Source: decision
 * 106.
 */
const REFUSAL_AGE_MS_MAX = 30_000;

/**
 * Time that an account change takes to reach all nodes, in milliseconds. Refusals asked for earlier
 * may be outdated and are not cached. Source: architecture 4, decision 106.
 */
const CHANGE_MS = 1_000;

/** The facts by which the limiter decides on the rate limit of a call. */
type LimitedCall = {
  readonly caller: { readonly accountId: string; readonly credential: string };
  readonly scope: NeededRight;
};

type Limited = {
  readonly accountId: string;
  readonly allowance: Allowance;
  /** Monotonic time, in milliseconds. */
  readonly endsAtMs: number;
};

/**
 * Cache of `rate_limited` refusals by key and scope. A flood of calls over the limit does not reach
 * the limiter.
 *
 * An entry lasts until the window resets, the account changes or 30 s have passed. No other
 * refusals are cached. Without change announcements nothing is cached, because a change would go
 * unnoticed. Source: architecture 4.
 */
export class LimitedKeys implements Disposable {
  readonly #clock: Clock;
  readonly #limited = new Map<string, Limited>();
  /** Accounts that changed recently, with the time of the change, oldest first. */
  readonly #changedAtMs = new Map<string, number>();
  readonly #subscription: Disposable | undefined;

  constructor(clock: Clock, news: AccountNews | undefined) {
    this.#clock = clock;
    this.#subscription = news?.onChange((accountId) => this.#forget(accountId));
  }

  /** Figures of a cached refusal of this call; undefined if the limiter must be asked. */
  find(call: LimitedCall): Allowance | undefined {
    // Fast path: nearly always no key is limited.
    if (this.#limited.size === 0) return undefined;
    const name = nameOf(call);
    const limited = this.#limited.get(name);
    if (limited === undefined) return undefined;
    if (this.#clock.monotonicMs() < limited.endsAtMs) return limited.allowance;
    this.#limited.delete(name);
    return undefined;
  }

  /**
   * Caches a `rate_limited` refusal. `askedAtMs` is the monotonic time when the limiter was asked.
   */
  remember(call: LimitedCall, allowance: Allowance, askedAtMs: number): void {
    if (this.#subscription === undefined) return;
    const { accountId } = call.caller;
    // The limiter may have answered before it received the change.
    const changedAtMs = this.#changedAtMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
    if (askedAtMs < changedAtMs + CHANGE_MS) return;
    const leftMs = allowance.windowResetAtS * 1_000 - this.#clock.wallMs();
    if (leftMs <= 0) return;
    const endsAtMs = this.#clock.monotonicMs() + Math.min(leftMs, REFUSAL_AGE_MS_MAX);
    const limited = { accountId, allowance, endsAtMs };
    putNewest(this.#limited, nameOf(call), limited, ENTRIES_MAX);
  }

  /** Ends the subscription to account changes. */
  [Symbol.dispose](): void {
    this.#subscription?.[Symbol.dispose]();
  }

  // A scan of all entries takes 0.1 ms, and accounts change rarely.
  #forget(accountId: string): void {
    for (const [name, limited] of this.#limited) {
      if (limited.accountId === accountId) this.#limited.delete(name);
    }
    const nowMs = this.#clock.monotonicMs();
    for (const [other, atMs] of this.#changedAtMs) {
      if (nowMs < atMs + CHANGE_MS) break;
      this.#changedAtMs.delete(other);
    }
    putNewest(this.#changedAtMs, accountId, nowMs, ENTRIES_MAX);
  }
}

function nameOf({ caller, scope }: LimitedCall): string {
  return `${caller.credential} ${scope}`;
}
