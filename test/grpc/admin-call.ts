import { systemClock } from '#stdlib/clock';

/** Options of admin calls in tests: a time-out for a busy machine. */
export const ADMIN_CALL = { timeoutMs: 3_000, clock: systemClock };
