/** Every bound of the runtime: its value, unit and reason. Full means `503` at once (architecture 3.7). */

/** Calls waiting for one actor. At 20 µs a turn a full mailbox is 20 ms of work. */
export const MAILBOX_CALLS_MAX = 1_024;

/** How long an actor remembers the ids of committed calls. Twice the longest call (architecture 3.5). */
export const RECENT_CALLS_AGE_MS = 20_000;

/** Ids an actor remembers: 200 calls a second on one instance for 20 s (architecture 3.5). */
export const RECENT_CALLS_MAX = 4_096;

/** The age at which a dirty actor is checkpointed at the latest: rows gather (architecture 3.2). */
export const CHECKPOINT_AGE_MS = 20_000;

/** Checkpoint writes in flight per process; more would delay appends (architecture 3.2). */
export const CHECKPOINTS_IN_FLIGHT_MAX = 8;

/** How long checkpoints may keep the event loop when the store answers at once, in milliseconds. */
export const CHECKPOINT_SLICE_MS = 2;

/** Records durable in the journal but not yet checkpointed, per process (architecture 3.2). */
export const UNFLUSHED_RECORDS_MAX = 200_000;

/** Bytes of rows in the same state, estimated, per process (architecture 3.2). */
export const UNFLUSHED_BYTES_MAX = 64 * 1_024 * 1_024;

/** How often idle and dirty actors are looked for. A tenth of the shortest age that matters. */
export const SWEEP_PERIOD_MS = 1_000;

/** Activations looked at in one sweep: 50 µs of work, so that no call waits for it. */
export const SWEEP_ACTORS_MAX = 2_000;

/**
 * How long records that nobody waits for gather. Ours: a limiter raises its marks nearly a tenth of
 * a second ahead of need, and each of these appends costs the store as much as one with a thousand.
 */
export const GROUP_LINGER_MS = 10;

/** Records of one journal group (architecture 3.1). */
export const GROUP_RECORDS_MAX = 4_096;

/** Bytes of a journal group's records (architecture 3.1); Cassandra refuses a batch of 8 MiB. */
export const GROUP_BYTES_MAX = 512 * 1_024;

/** Bytes of one record, as its actor estimates them (architecture 3.1); as JSON it may be thrice. */
export const RECORD_BYTES_MAX = 300 * 1_024;

/** How long the last successful append vouches for answers from memory (architecture 3.3). */
export const LEASE_MS = 2_000;

/** An append without an answer for so long: nothing more is taken in until it has one. Ours. */
export const APPEND_STALL_MS_MAX = 3_000;

/** How often an idle node appends an empty group, so that others see it alive (architecture 3.1). */
export const JOURNAL_BEAT_MS = 1_000;

/** How often the low mark is looked up: it costs a walk over all dirty actors. Ours. */
export const LOW_PERIOD_MS = 1_000;

/** Slots that make moving the low mark worth a delete (architecture 3.1). */
export const LOW_SLOTS = 1_000;

/** Bytes that do (architecture 3.1). */
export const LOW_BYTES = 4 * 1_024 * 1_024;

/** The time after which any slot does (architecture 3.1). */
export const LOW_AGE_MS = 10_000;

/** Pause before an append is sent again, or asked about again. Ours. */
export const APPEND_RETRY_MS = 100;

/** Pause before a write that an actor owes is tried again. Ours: a tenth of a sweep. */
export const OWED_RETRY_MS = 100;

/** Slots of a dead node's journal in its first reads, and in any that were too large. Ours: up to 16 MiB. */
export const ADOPTION_SLOTS_MIN = 32;

/** Slots in a later read, if they are small; a read of so many takes 0.6 of the time. Ours. */
export const ADOPTION_SLOTS_MAX = 512;

/** Bytes of a read above which the next are smaller, and below half of which they are larger. Ours. */
export const ADOPTION_READ_BYTES = 1_024 * 1_024;

/** Such reads under way at once: the next are there when one has been gone through. Ours. */
export const ADOPTION_READS_MAX = 4;

/** Adopted actors that are activated at once in the background. Ours: 3,200 a second. */
export const WARM_ACTORS = 32;

/**
 * How long the first portion waits for the take-over to end, in milliseconds: callers activate what
 * they need, and hundreds of reads of heads would delay the claims. Ours.
 */
export const WARM_DELAY_MS = 1_000;

/** Pause between two such portions, in milliseconds. Ours. */
export const WARM_PERIOD_MS = 10;

/** Portions that activate nothing before the pause grows: a slow read takes a few. Ours. */
export const WARM_FRUITLESS_MAX = 20;

/** That longer pause, in milliseconds: once a second each actor that cannot be activated is reported. Ours. */
export const WARM_STUCK_MS = 1_000;

/** How often a closing shard is looked at until it is quiet. Ours: well below a caller's notice. */
export const CLOSE_POLL_MS = 2;

/** First pause before a fenced node lives again; each is twice the one before (architecture 3.1). */
export const REJOIN_MS_MIN = 1_000;

/** The longest of these pauses (architecture 3.1). */
export const REJOIN_MS_MAX = 30_000;

/** A life this long lets the pauses start anew. Ours. */
export const REJOIN_RESET_MS = 60_000;

/** How long a node that ends tries to give everything up: less than its process has for closing. Ours. */
export const LEAVE_MS_MAX = 10_000;
