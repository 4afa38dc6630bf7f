import { systemClock } from '#stdlib/clock';

/** How tests make admin calls: long enough for a busy machine. */
export const ADMIN_CALL = { timeoutMs: 3_000, clock: systemClock };
