import type { Allowance } from '#grpc/limiter-messages';

/** An allowance whose minute and month do not end during a test with the system clock. */
export const LASTING_ALLOWANCE: Allowance = {
  requestsPerMinute: 60,
  requestsRemaining: 59,
  windowResetAtS: 4_000_000_000,
  cyclesPerMonth: 100,
  cyclesRemaining: 99,
  monthResetAtS: 4_000_000_000,
  instances: 1_000,
};
