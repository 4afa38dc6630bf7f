import type { Clock } from '#platform/clock';
import { isNear } from '#platform/clock-agreement';
import type { ServerClocks } from '#storage/server-clocks';

/** How often the servers are asked for their time while it is needed, in milliseconds. */
const ASK_PERIOD_MS = 10_000;

/** How long an answer counts, in milliseconds: two that fail are no reason to forget it. */
const ANSWER_MS_MAX = 30_000;

/** An answer that took longer, in milliseconds, shows nothing of now. */
const ASKING_MS_MAX = 10_000;

/** What the servers' clocks showed, each less this process's monotonic clock, and when (monotonic). */
type Answer = { readonly aheadMs: readonly number[]; readonly atMs: number };

/** Whether the clocks of the data's servers agree with that of this process (decision 138). */
export class ServerAgreement {
  readonly #servers: ServerClocks;
  readonly #clock: Clock;
  #answer: Answer | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(servers: ServerClocks, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** Asks the servers again, unless they were asked just now. */
  ask(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#askedMs < ASK_PERIOD_MS) return;
    this.#askedMs = nowMs;
    this.#servers.read().then(
      (shown) => this.#note(shown, nowMs),
      () => undefined,
    );
  }

  /** Whether most servers agree with a wall clock that is `ownMs` ahead of the monotonic one. */
  agreesWith(ownMs: number): boolean {
    if (this.#answer === undefined) return false;
    const { aheadMs, atMs } = this.#answer;
    if (this.#clock.monotonicMs() - atMs > ANSWER_MS_MAX) return false;
    const near = aheadMs.filter((other) => isNear(ownMs, other));
    return near.length * 2 > aheadMs.length;
  }

  #note(shown: readonly number[], askedMs: number): void {
    const atMs = this.#clock.monotonicMs();
    if (atMs - askedMs > ASKING_MS_MAX) return;
    this.#answer = { aheadMs: shown.map((wallMs) => wallMs - atMs), atMs };
  }
}
