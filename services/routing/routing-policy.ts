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
