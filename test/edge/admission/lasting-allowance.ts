import type { Allowance } from '#grpc/limiter-messages';

/** Limit headers whose minute and month do not end while a test runs on the system clock. */
export const LASTING_ALLOWANCE: Allowance = {
  requestsPerMinute: 60,
  requestsRemaining: 59,
  windowResetAtS: 4_000_000_000,
  cyclesPerMonth: 100,
  cyclesRemaining: 99,
  monthResetAtS: 4_000_000_000,
  instances: 1_000,
};
