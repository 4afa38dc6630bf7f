import { Fault } from '#fault/fault';

/** What a service that routing cannot reach is refused with, for every service that is sharded. */
type Unavailable = 'engine_unavailable' | 'limiter_unavailable';

/** Why a call is made again. `no_owner`: no node is known yet that it could be sent to. */
export const RETRY_REASONS = [
  ...(['not_owner', 'engine_unavailable', 'limiter_unavailable'] as const),
  ...(['shutting_down', 'no_owner'] as const),
] as const;

/** One of them. */
export type RetryReason = (typeof RETRY_REASONS)[number];

/** What sets the calls of one service apart from those of another, as far as routing goes. */
export type RoutingPolicy<Call, Answer> = {
  /** The id in whose shard a call belongs. On the hot path: must be cheap. */
  readonly routingIdOf: (call: Call) => string;
  /** The longest that a call may take from its first try on, all tries together, in milliseconds. */
  readonly timeoutMsOf: (call: Call) => number;
  /**
   * How long it may take when a living node has said that the shard is on the move, or that it ends
   * itself: that proves that nothing has happened, and that a node will have it soon. In
   * milliseconds.
   */
  readonly movingMs: number;
  /** When a call's time is over by the wall clock, if it says so; else infinity. */
  readonly deadlineAtMsOf: (call: Call) => number;
  /** Why a call is refused that no node answered in time; such a refusal by a node is passing too. */
  readonly unavailable: Unavailable;
  /** Whether a call that may have happened does no harm when it is made again. */
  readonly isRepeatable: boolean;
  /** What is to be made of an answer that follows a try of unknown outcome. */
  readonly afterUnknown: (answer: Answer) => Answer;
  /** The first and the largest ceiling of the pause before a call is made again, in milliseconds. */
  readonly pauseMs: { readonly first: number; readonly most: number };
};

/** Refusals that pass: the shard is on the move, or its node is ending or cannot be reached. */
const PASSING: ReadonlySet<string | undefined> = new Set<RetryReason>([
  'not_owner',
  'engine_unavailable',
  'limiter_unavailable',
  'shutting_down',
]);

/** Why the call may be made again that has ended in `fault`; undefined: it must not be. */
export function retryReasonOf(
  { isRepeatable }: Pick<RoutingPolicy<never, never>, 'isRepeatable'>,
  { code, reason, isOutcomeUnknown }: Fault,
): RetryReason | undefined {
  if (code !== 'service_unavailable' || (isOutcomeUnknown && !isRepeatable)) return undefined;
  return PASSING.has(reason) ? (reason as RetryReason) : undefined;
}

/** Refusals that say, or leave open, that no node serves the shard where the call was sent. */
const DOUBTFUL: ReadonlySet<string | undefined> = new Set([...PASSING, 'deadline_exceeded']);

/** Whether a call that ended in `fault` leaves it in doubt that whom it was sent to owns its shard. */
export function isOwnerInDoubt({ code, reason }: Fault): boolean {
  return code === 'service_unavailable' && DOUBTFUL.has(reason);
}

/** The same refusal of a call of which an earlier try may have happened. */
export function ofUnknownOutcome(fault: Fault): Fault {
  if (fault.isOutcomeUnknown) return fault;
  const { reason, field, mode, retryAfterS } = fault;
  const shown = { reason, field, mode, retryAfterS };
  return new Fault(fault.code, fault.message, { ...shown, isOutcomeUnknown: true, cause: fault });
}

/** Every bound of routing with unit and reason. Full means a fault at once (architecture 3.7). */

/** First ceiling of the pause before another try, in milliseconds: a handoff takes tens. */
export const RETRY_PAUSE_MS_MIN = 20;

/** Largest ceiling of that pause, in milliseconds: a quarter of what a fail-over may take. */
export const RETRY_PAUSE_MS_MAX = 250;

/** First ceiling of it before a limiter is asked again, in milliseconds: at least 5 of its 100. */
export const LIMITER_PAUSE_MS_MIN = 10;

/** Largest ceiling of that pause, in milliseconds: a call of 100 ms has room for five. */
export const LIMITER_PAUSE_MS_MAX = 20;

/**
 * How long an admission may wait when a living limiter has said that it hands the meter over, or
 * that it ends, in milliseconds: three conditional writes, on a busy store. Source: decision 24.
 */
export const LIMITER_MOVING_MS_MAX = 1_000;

/**
 * The same as a multiple of an admission's time, where an operator grants that more than 100 ms: a
 * machine on which one step takes that long needs it for each of the three. Source: decision 24.
 */
export const LIMITER_MOVING_STEPS = 3;

/**
 * How long a settlement may look for its meter, in milliseconds: cycles that cannot be given back
 * are lost to their account.
 */
export const SETTLE_MS_MAX = 1_000;

/** Calls that pause before their next try, per process: as many as one connection has in flight. */
export const WAITING_CALLS_MAX = 4_096;

/** Connections to nodes of a service, per process: over twice a fleet of 100, room for moves. */
export const PEERS_MAX = 256;

/**
 * How long a connection may take before news of its node make another attempt, in milliseconds:
 * more than one takes on a machine whose cores are busy.
 */
export const CONNECT_AGAIN_MS = 500;

/**
 * How long a connection outlives its node's last shard, or waits for its first, in milliseconds:
 * three longest calls.
 */
export const PEER_IDLE_MS = 30_000;

/** How often connections without a shard are looked for, in milliseconds: a tenth of that age. */
export const PEER_SWEEP_MS = 3_000;

/** How long a process that starts waits for the owners of all shards: two heartbeats, and some. */
export const ROUTES_MS_MAX = 3_000;

/** How often it looks for them, in milliseconds. */
export const ROUTES_POLL_MS = 20;
