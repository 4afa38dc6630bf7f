import type { Config } from '#config';
import type { LimiterConfig } from '#limiter/limiter-actors';
import type { Foundation } from '#process/foundation';

/** The limiter's part of the configuration: an admission is as old as its edge would wait. */
export function limiterConfigOf(config: Config, { actors }: Foundation): LimiterConfig {
  return { ...actors, admitAgeMs: config.SERVICE_LIMITER_TIMEOUT_MS };
}
