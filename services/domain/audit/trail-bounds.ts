/**
 * Bounds for the audit trail, each with unit and reason. Work beyond a bound is refused
 * (architecture 3.7).
 *
 * In their own module, so that API schemas import the limits without the store.
 */

/** Maximum time until a line is durable, in milliseconds. Callers have a similar timeout. */
export const APPEND_MS_MAX = 5_000;

/** Maximum number of queued lines per account: about two seconds of batched appends. */
export const WAITING_LINES_MAX = 4_096;

/** Maximum line length, in characters. Typical details have a few hundred characters. */
export const LINE_LENGTH_MAX = 16_384;

/**
 * Minimum of the monthly limit on audit lines for writes to instances, for every account: about 7
 * MB.
 */
export const MONTH_LINES_MIN = 20_000;

/**
 * Allowed audit lines per cycle of the plan: a `begun` line for the write, and a line for its
 * refusal.
 */
export const LINES_PER_CYCLE = 2;

/**
 * Maximum number of accounts with a cached head, about 2 MB. A cached head saves one read per
 * append.
 */
export const HEADS_HELD_MAX = 10_000;

/** Maximum number of attempts to append a batch after conflicts or lost answers. */
export const APPEND_TRIES_MAX = 8;

/** Maximum number of entries per page. */
export const PAGE_ENTRIES_MAX = 100;

/** Maximum number of lines scanned per page. A page without matches still returns a cursor. */
export const PAGE_LINES_MAX = 2_048;
