/*
 * Retries of routed calls: which refusals are retried, the pause before an attempt, and calls that
 * wait. `routed-service` sends the attempts and ends a call at its deadline.
 */
import { Fault, faultFor } from '#errors/fault';
import type { Clock } from '#stdlib/clock';

/** Refusal reason when routing cannot reach a sharded service. */
type Unavailable = 'engine_unavailable' | 'limiter_unavailable';

/** Reasons for retrying a call. `no_owner`: the owner of the call's shard is not known yet. */
export const RETRY_REASONS = [
  ...(['not_owner', 'engine_unavailable', 'limiter_unavailable'] as const),
  ...(['shutting_down', 'no_owner'] as const),
] as const;

/** Reason for retrying a call. */
export type RetryReason = (typeof RETRY_REASONS)[number];

/** Differences between services in routing their calls. */
export type RoutingPolicy<Call, Answer> = {
  /** Id that determines the shard of a call. On the hot path: must be cheap. */
  readonly routingIdOf: (call: Call) => string;
  /** Maximum duration of a call over all attempts, in milliseconds from the first attempt. */
  readonly timeoutMsOf: (call: Call) => number;
  /**
   * Maximum duration of a call that was refused because its shard is moving or its node is shutting
   * down, in milliseconds. Such a refusal proves that the call had no effect, and that another node
   * will own the shard soon.
   */
  readonly movingMs: number;
  /** Deadline of a call by the wall clock, in Unix milliseconds. Infinity without a deadline. */
  readonly deadlineAtMsOf: (call: Call) => number;
  /**
   * Refusal reason of a call that no node answered in time. If a node itself answers with this
   * reason, the call is retried.
   */
  readonly unavailable: Unavailable;
  /** Whether repeating a call of unknown outcome is harmless. */
  readonly isRepeatable: boolean;
  /** Adjusts an answer that follows an attempt of unknown outcome. */
  readonly afterUnknown: (answer: Answer) => Answer;
  /** First and maximum ceiling of the backoff before a retry, in milliseconds. */
  readonly pauseMs: { readonly first: number; readonly most: number };
};

/** Retryable refusals: the shard moves, or its node is shutting down or unreachable. */
const PASSING: ReadonlySet<string | undefined> = new Set<RetryReason>([
  'not_owner',
  'engine_unavailable',
  'limiter_unavailable',
  'shutting_down',
]);

/** Reason for retrying a call that ended in `fault`. Undefined if the call must not be retried. */
export function retryReasonOf(
  { isRepeatable }: Pick<RoutingPolicy<never, never>, 'isRepeatable'>,
  { code, reason, isOutcomeUnknown }: Fault,
): RetryReason | undefined {
  if (code !== 'service_unavailable' || (isOutcomeUnknown && !isRepeatable)) return undefined;
  return PASSING.has(reason) ? (reason as RetryReason) : undefined;
}

/** Refusals after which it is uncertain that the called node owns the shard. */
const DOUBTFUL: ReadonlySet<string | undefined> = new Set([...PASSING, 'deadline_exceeded']);

/** Whether a call that ended in `fault` casts doubt on the owner of its shard. */
export function isOwnerInDoubt({ code, reason }: Fault): boolean {
  return code === 'service_unavailable' && DOUBTFUL.has(reason);
}

/** Pauses of one call so far. */
export type Pauses = {
  /** Number of pauses with backoff. */
  pauses: number;
  /** Whether the last pause was skipped because of a hint to a new owner. */
  hasRedirected: boolean;
};

/**
 * Pause before the next attempt of a call, in milliseconds: exponential backoff with jitter. A hint
 * to a new owner is followed without a pause, but not twice in succession. `random` is uniform in
 * [0, 1). Updates `call`.
 */
export function pauseMsOf(
  call: Pauses,
  { pauseMs }: Pick<RoutingPolicy<never, never>, 'pauseMs'>,
  isHinted: boolean,
  random: () => number,
): number {
  call.hasRedirected = isHinted && !call.hasRedirected;
  if (call.hasRedirected) return 0;
  const ceilingMs = Math.min(pauseMs.most, pauseMs.first * 2 ** call.pauses);
  call.pauses += 1;
  // Half of the pause is random (jitter): calls are spread, and every pause is above zero.
  return (ceilingMs * (1 + random())) / 2;
}

/** Copy of `fault` for a call whose earlier attempt may have taken effect. */
export function ofUnknownOutcome(fault: Fault): Fault {
  if (fault.isOutcomeUnknown) return fault;
  const { reason, field, mode, retryAfterS } = fault;
  const shown = { reason, field, mode, retryAfterS };
  return new Fault(fault.code, fault.message, { ...shown, isOutcomeUnknown: true, cause: fault });
}

/**
 * Bounds of routing, with units and reasons. At a bound, calls fail immediately (architecture 3.7).
 */

/** First ceiling of the retry backoff, in milliseconds. A handoff takes tens of milliseconds. */
export const RETRY_PAUSE_MS_MIN = 20;

/**
 * Maximum ceiling of the retry backoff, in milliseconds. A quarter of the time that a fail-over may
 * take.
 */
export const RETRY_PAUSE_MS_MAX = 250;

/**
 * First ceiling of the backoff before a limiter is retried, in milliseconds. A pause then takes at
 * least 5 ms of an admission's 100 ms.
 */
export const LIMITER_PAUSE_MS_MIN = 10;

/**
 * Maximum ceiling of the limiter backoff, in milliseconds. A call of 100 ms has room for five
 * pauses.
 */
export const LIMITER_PAUSE_MS_MAX = 20;

/**
 * Maximum duration of an admission whose meter is moving to another limiter or whose limiter is
 * shutting down, in milliseconds. `LIMITER_MOVING_STEPS` can raise this bound. Equal to three
 * conditional writes on a busy store. Source: decision 24.
 */
export const LIMITER_MOVING_MS_MAX = 1_000;

/**
 * Bound of the duration in `LIMITER_MOVING_MS_MAX`, as a multiple of the routed limiter's
 * `timeoutMs`. The larger of the two bounds applies, because on a slow machine each of the three
 * writes may take `timeoutMs`. Source: decision 24.
 */
export const LIMITER_MOVING_STEPS = 3;

/**
 * Maximum duration of a settlement over all attempts, in milliseconds. Cycles that cannot be
 * refunded are lost to their account.
 */
export const SETTLE_MS_MAX = 1_000;

/**
 * Maximum number of calls waiting for a retry, per process. Less than the calls in flight on
 * one connection.
 */
export const WAITING_CALLS_MAX = 4_096;

/**
 * Maximum number of connections to nodes of a service, per process. More than twice a fleet of 100,
 * so that moves have room.
 */
export const PEERS_MAX = 256;

/**
 * Minimum age of a connection attempt before a heartbeat of its node replaces the attempt, in
 * milliseconds. Longer than an attempt takes on a busy machine.
 */
export const CONNECT_AGAIN_MS = 500;

/**
 * Time for which a connection to a node without shards is kept, in milliseconds: three times the
 * longest call.
 */
export const PEER_IDLE_MS = 30_000;

/** Period of closing idle connections, in milliseconds: a tenth of `PEER_IDLE_MS`. */
export const PEER_SWEEP_MS = 3_000;

/**
 * Maximum time for which a starting process waits for the owners of all shards, in milliseconds:
 * between two and three heartbeats.
 */
export const ROUTES_MS_MAX = 3_000;

/** Period at which a waiting process checks whether all owners are known, in milliseconds. */
export const ROUTES_POLL_MS = 20;

/** Events that end a pause early: a new owner of the shard, or a connection to an address. */
type Awaited = {
  readonly shard: number | undefined;
  readonly address: string | undefined;
};

type Waiter = Awaited & { readonly wake: () => void };

/** Calls that pause before their next attempt. */
export class WaitingCalls {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Fulfils after `delayMs`, or earlier when an awaited event occurs. Rejects immediately with
   * `overloaded` if too many calls are already waiting.
   */
  wait(delayMs: number, awaited: Awaited): Promise<void> {
    if (this.#waiters.size >= WAITING_CALLS_MAX) {
      const text = 'too many calls are already waiting for a retry';
      return Promise.reject(faultFor('overloaded', text, { retryAfterS: 1 }));
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        timer[Symbol.dispose]();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { ...awaited, wake };
      const timer = this.#clock.after(delayMs, wake);
      this.#waiters.add(waiter);
    });
  }

  /** Wakes the calls that wait for a new owner of the shard. */
  wakeShard(shard: number): void {
    for (const waiter of this.#waiters) if (waiter.shard === shard) waiter.wake();
  }

  /** Wakes the calls that wait for a connection to the address. */
  wakeAddress(address: string): void {
    for (const waiter of this.#waiters) if (waiter.address === address) waiter.wake();
  }

  /** Ends every wait. */
  wakeAll(): void {
    for (const waiter of this.#waiters) waiter.wake();
  }
}
