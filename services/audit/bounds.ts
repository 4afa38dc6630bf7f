/** Every bound of the audit trail with unit and reason. Full means a refusal (architecture 3.7). */

/** How long an action waits until its line is durable, in milliseconds: as long as a caller would. */
export const APPEND_MS_MAX = 5_000;

/** Lines that wait for their turn in one account: two seconds of what a month takes in batches. */
export const WAITING_LINES_MAX = 4_096;

/** Characters of a line: what an action was before and after has some hundred. */
export const LINE_LENGTH_MAX = 16_384;

/** Lines of a month that every account may have of writes to instances: about 7 MB. */
export const MONTH_LINES_MIN = 20_000;

/** Lines of such writes for each cycle of the plan: one for each, and one for a refusal of each. */
export const LINES_PER_CYCLE = 2;

/** Accounts whose newest head is remembered, so that an append begins without a read. About 2 MB. */
export const HEADS_HELD_MAX = 10_000;

/** Tries of a batch that others get in front of, or whose answer is lost. */
export const APPEND_TRIES_MAX = 8;

/** Entries of one page. */
export const PAGE_ENTRIES_MAX = 100;

/** Lines that are looked at for one page: one that finds nothing says where to go on. */
export const PAGE_LINES_MAX = 2_048;
