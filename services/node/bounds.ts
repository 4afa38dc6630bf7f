/** Every bound of a node of the cluster: its value, unit and reason. */

/** How often an idle node appends an empty group: others see it alive (architecture 3.1). */
export const JOURNAL_BEAT_MS = 1_000;

/** Slots below the low-water mark that are worth a deletion (architecture 3.1). */
export const TRUNCATION_SLOTS_MIN = 1_000;

/** Bytes of them that are (architecture 3.1). */
export const TRUNCATION_BYTES_MIN = 4 * 1_024 * 1_024;

/** The time after which any slot is (architecture 3.1). */
export const TRUNCATION_AGE_MS = 10_000;

/** Pause before an append is sent again, or the seal looked for again. Chosen. */
export const APPEND_RETRY_MS = 100;

/** What a caller waits before the next try while nothing can be written, in seconds. As of a full disk. */
export const UNWRITABLE_RETRY_S = 5;

/** Pause before a pending side effect is tried again. Chosen: a tenth of a sweep. */
export const EFFECT_RETRY_MS = 100;

/** Slots in the first reads of a dead node's journal and in any too large. Chosen: 16 MiB at most. */
export const TAIL_READ_SLOTS_MIN = 32;

/** Slots in a later read, if they are small; such a read takes 0.6 of the time. Chosen. */
export const TAIL_READ_SLOTS_MAX = 512;

/** Bytes of a read above which the next are smaller; below half of them larger. Chosen. */
export const TAIL_READ_BYTES = 1_024 * 1_024;

/** Such reads under way at once: the next are there when one has been gone through. Chosen. */
export const TAIL_READS_IN_FLIGHT_MAX = 4;

/** Actors with recovered records activated at once in the background. Chosen: 3,200 a second. */
export const EAGER_ACTORS = 32;

/**
 * How long the first portion waits for the take-over to end, in milliseconds: callers activate what
 * they need, and hundreds of reads of heads would delay the claims. Chosen.
 */
export const EAGER_DELAY_MS = 1_000;

/** Pause between two such portions, in milliseconds. Chosen. */
export const EAGER_PERIOD_MS = 10;

/** Portions that activate nothing before the pause grows: a slow read takes a few. Chosen. */
export const EAGER_FRUITLESS_MAX = 20;

/** That longer pause, in milliseconds: what cannot be activated is reported at it. Chosen. */
export const EAGER_STUCK_MS = 1_000;

/** How often a closing shard is looked at until it is quiet. Chosen: no caller notices it. */
export const CLOSE_POLL_MS = 2;

/** First pause before a fenced node rejoins; each is twice the one before (architecture 3.1). */
export const REJOIN_MS_MIN = 1_000;

/** The longest of these pauses (architecture 3.1). */
export const REJOIN_MS_MAX = 30_000;

/** An incarnation this long resets the pauses. Chosen. */
export const REJOIN_RESET_MS = 60_000;

/** How long an ending node tries to give everything up: its process has more. Chosen. */
export const LEAVE_MS_MAX = 10_000;

/** How long it then tries to write down how much of its journal is not needed any more. Chosen. */
export const MARK_MS_MAX = 2_000;
