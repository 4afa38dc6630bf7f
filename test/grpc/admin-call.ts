import { systemClock } from '#stdlib/clock';

/** Options of admin calls in tests. The time-out is long enough for a busy machine. */
export const ADMIN_CALL = { timeoutMs: 3_000, clock: systemClock };
