import { RoutedService, type RoutedServiceOptions } from '#routing/routed-service';
import {
  LIMITER_MOVING_MS_MAX,
  LIMITER_MOVING_STEPS,
  LIMITER_PAUSE_MS_MAX,
  LIMITER_PAUSE_MS_MIN,
  SETTLE_MS_MAX,
} from '#routing/routing-bounds';
import type { RoutingPolicy } from '#routing/routing-policy';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#wire/limiter-messages';
import { ACCOUNT_CALL_MS_MAX, LIMITER_TIMEOUT_MS } from '#wire/wire-bounds';

/** What routing to limiters needs. */
export type RoutedLimiterOptions = RoutedServiceOptions<LimiterCall, LimiterAnswer> & {
  /** How long an admission may take, all tries together, in milliseconds; 100 by default. */
  readonly timeoutMs?: number;
};

/**
 * The limiters of a cluster as one: a call goes to the owner of its account's meter. Fails closed
 * with `limiter_unavailable` when its time is over. Source: architecture 4.
 *
 * What may have happened is never asked again: a second admission would count a second request, and
 * join the first one's reservation.
 */
export class RoutedLimiter
  extends RoutedService<LimiterCall, LimiterAnswer>
  implements LimiterClient
{
  constructor({ timeoutMs = LIMITER_TIMEOUT_MS, ...options }: RoutedLimiterOptions) {
    const timeoutOf = { admit: timeoutMs, settle: SETTLE_MS_MAX, account: ACCOUNT_CALL_MS_MAX };
    const policy: RoutingPolicy<LimiterCall, LimiterAnswer> = {
      routingIdOf: ({ accountId }) => accountId,
      timeoutMsOf: ({ kind }) => timeoutOf[kind],
      movingMs: Math.max(LIMITER_MOVING_MS_MAX, LIMITER_MOVING_STEPS * timeoutMs),
      deadlineAtMsOf: () => Number.POSITIVE_INFINITY,
      unavailable: 'limiter_unavailable',
      isRepeatable: false,
      afterUnknown: (answer) => answer,
      pauseMs: { first: LIMITER_PAUSE_MS_MIN, most: LIMITER_PAUSE_MS_MAX },
    };
    super(policy, options);
  }
}
