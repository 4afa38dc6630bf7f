/**
 * Bounds of the audit trail, each with unit and reason. A full bound refuses (architecture 3.7).
 */

/** Maximum wait until a line is durable, in milliseconds. Callers wait about as long. */
export const APPEND_MS_MAX = 5_000;

/** Maximum number of lines that wait per account: two seconds of batched appends to a month. */
export const WAITING_LINES_MAX = 4_096;

/** Maximum length of a line, in characters. The details of an action have a few hundred. */
export const LINE_LENGTH_MAX = 16_384;

/** Minimum number of lines per month that every account has for writes to instances: about 7 MB. */
export const MONTH_LINES_MIN = 20_000;

/** Lines for writes to instances per cycle of the plan: one for the write, one for its refusal. */
export const LINES_PER_CYCLE = 2;

/**
 * Maximum number of accounts whose newest head is cached. A cached head saves a read per append.
 * About 2 MB.
 */
export const HEADS_HELD_MAX = 10_000;

/** Maximum number of attempts to append a batch after conflicts or lost answers. */
export const APPEND_TRIES_MAX = 8;

/** Maximum number of entries per page. */
export const PAGE_ENTRIES_MAX = 100;

/**
 * Maximum number of lines that are scanned per page. A page without matches still returns a cursor.
 */
export const PAGE_LINES_MAX = 2_048;
