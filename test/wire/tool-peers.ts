import { systemClock } from '#platform/clock';

/** How tests ask unary methods: long enough for a busy machine. */
export const TOOL_CALL = { timeoutMs: 3_000, clock: systemClock };
