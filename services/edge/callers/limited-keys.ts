import type { AccountNews } from '#accounts/account';
import type { NeededRight } from '#accounts/api-key';
import type { Clock } from '#platform/clock';
import { putNewest } from '#platform/put-newest';
import type { Allowance } from '#wire/limiter-messages';

/** Refusals and changes remembered; the oldest is forgotten first. */
const ENTRIES_MAX = 10_000;

/** How long a refusal is believed at most, in milliseconds: news may get lost. Source: decision 106. */
const REFUSAL_AGE_MS_MAX = 30_000;

/**
 * How long after its change a refusal of an account may still rest on what was before, in
 * milliseconds: by then a change is effective everywhere. Source: architecture 4, decision 106.
 */
const CHANGE_MS = 1_000;

/** Whose refusal it is: what the limiter decides by. */
type LimitedCall = {
  readonly caller: { readonly accountId: string; readonly credential: string };
  readonly scope: NeededRight;
};

type Limited = {
  readonly accountId: string;
  readonly allowance: Allowance;
  /** Monotonic time. */
  readonly endsAtMs: number;
};

/**
 * Remembers which keys are `rate_limited`, per scope, so that a flood of calls beyond the limit
 * does not reach the limiter; until the window resets or a change of the account is announced, and
 * nothing but these refusals. Where no news is to be had nothing is remembered: a change would be
 * heard of too late. Source: architecture 4.
 */
export class LimitedKeys implements Disposable {
  readonly #clock: Clock;
  readonly #limited = new Map<string, Limited>();
  /** Accounts that have changed a moment ago, and when; the oldest first. */
  readonly #changedAtMs = new Map<string, number>();
  readonly #subscription: Disposable | undefined;

  constructor(clock: Clock, news: AccountNews | undefined) {
    this.#clock = clock;
    this.#subscription = news?.onChange((accountId) => this.#forget(accountId));
  }

  /** The numbers with which such a call is refused unasked; undefined if the limiter must be asked. */
  find(call: LimitedCall): Allowance | undefined {
    // Nearly always no key is limited.
    if (this.#limited.size === 0) return undefined;
    const name = nameOf(call);
    const limited = this.#limited.get(name);
    if (limited === undefined) return undefined;
    if (this.#clock.monotonicMs() < limited.endsAtMs) return limited.allowance;
    this.#limited.delete(name);
    return undefined;
  }

  /** Notes that the limiter, asked at a monotonic time, refused such a call as `rate_limited`. */
  remember(call: LimitedCall, allowance: Allowance, askedAtMs: number): void {
    if (this.#subscription === undefined) return;
    const { accountId } = call.caller;
    // The limiter may have answered before it heard the news itself.
    const changedAtMs = this.#changedAtMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
    if (askedAtMs < changedAtMs + CHANGE_MS) return;
    const leftMs = allowance.windowResetAtS * 1_000 - this.#clock.wallMs();
    if (leftMs <= 0) return;
    const endsAtMs = this.#clock.monotonicMs() + Math.min(leftMs, REFUSAL_AGE_MS_MAX);
    const limited = { accountId, allowance, endsAtMs };
    putNewest(this.#limited, nameOf(call), limited, ENTRIES_MAX);
  }

  /** Ends the subscription. */
  [Symbol.dispose](): void {
    this.#subscription?.[Symbol.dispose]();
  }

  // A look at all of them takes a tenth of a millisecond, and accounts change rarely.
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
