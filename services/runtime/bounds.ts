/** Every bound of the runtime with unit and reason. Full means `503` at once (architecture 3.7). */

/** Calls waiting for one actor. At 20 µs a turn a full mailbox is 20 ms of work. */
export const MAILBOX_CALLS_MAX = 1_024;

/** How long an actor remembers ids of committed calls: twice the longest (architecture 3.5). */
export const RECENT_CALLS_AGE_MS = 20_000;

/** Ids an actor remembers: 200 calls a second on one instance for 20 s (architecture 3.5). */
export const RECENT_CALLS_MAX = 4_096;

/**
 * The age at which a dirty actor is checkpointed at the latest, while the tail is under half its
 * bound: several observations then share a write, and several actors of a bucket (decision 200).
 */
export const CHECKPOINT_AGE_MS = 120_000;

/**
 * The age at which a state is stored that a promise depends on, as a deletion: half of the 20 s that
 * are promised, which leaves time for another try (decision 200).
 */
export const URGENT_CHECKPOINT_AGE_MS = 10_000;

/** Checkpoint writes in flight per process; more would delay appends (architecture 3.2). */
export const CHECKPOINTS_IN_FLIGHT_MAX = 8;

/**
 * Of these, writes of actors that go alone, because a side effect is pending or the store has refused
 * them: those that keep failing leave room for the others. Chosen: half.
 */
export const LONE_CHECKPOINTS_IN_FLIGHT_MAX = 4;

/** How long checkpoints may keep the event loop, to copy or when the store answers at once, in ms. */
export const CHECKPOINT_SLICE_MS = 2;

/** Records durable in the journal but not yet checkpointed, per process (architecture 3.2). */
export const UNFLUSHED_RECORDS_MAX = 200_000;

/**
 * How full the tail is when the oldest actors are stored before their age, and the room for early
 * rows when some are. The other half is room for the records of a node that has failed, and for
 * five seconds without a checkpoint at 20,000 records a second.
 */
export const TAIL_FILL_DUE = 0.5;

/**
 * How full the tail or the room for early rows may be for records to be replayed: a take-over makes
 * again what the former owner had stored already, and must leave room for calls.
 */
export const REPLAY_FILL_MAX = 0.9;

/** How often a replay looks whether there is room, in ms. Chosen: a checkpoint takes some. */
export const REPLAY_LOOK_MS = 20;

/**
 * Bytes of rows in the same state, estimated, per process: 671 for each of those records. One that
 * drifts holds 600, one that does not 150, and a recovered one 350 more until it is stored.
 */
export const UNFLUSHED_BYTES_MAX = 128 * 1_024 * 1_024;

/**
 * Bytes of early rows that wait to be stored, per process: from half of them on the bucket that has
 * waited longest is written. Chosen: of 4,096 buckets each then writes 16 KiB at a time, seven
 * answers.
 */
export const EARLY_ROWS_BYTES_MAX = 128 * 1_024 * 1_024;

/** Bytes of one write of early rows, and of at most `HEADS_MAX` actors; kept small for the event loop. */
export const EARLY_WRITE_BYTES_MAX = 256 * 1_024;

/** Writes of early rows in flight per process, besides checkpoints. Chosen: half as many. */
export const EARLY_WRITES_IN_FLIGHT_MAX = 4;

/** How often idle and dirty actors are looked for. A tenth of the shortest age that matters. */
export const SWEEP_PERIOD_MS = 1_000;

/** Activations looked at in one sweep: 50 µs of work, so that no call waits for it. */
export const SWEEP_ACTORS_MAX = 2_000;

/**
 * How long records that no caller waits for gather. Chosen: a limiter raises its watermarks nearly
 * a tenth of a second ahead of need, and each of these appends costs the store as much as a
 * thousand.
 */
export const GROUP_LINGER_MS = 10;

/** Records of one journal group (architecture 3.1). */
export const GROUP_RECORDS_MAX = 4_096;

/** Bytes of a journal group's records (architecture 3.1); Cassandra refuses a batch of 8 MiB. */
export const GROUP_BYTES_MAX = 512 * 1_024;

/** Bytes of one record, as its actor estimates them (architecture 3.1); JSON may be thrice. */
export const RECORD_BYTES_MAX = 300 * 1_024;

/**
 * Journal groups in flight at once: the next is written while the seal is looked for after the one
 * before (decision 191).
 */
export const APPENDS_IN_FLIGHT_MAX = 2;

/** How long the last successful append vouches for answers from memory (architecture 3.3). */
export const LEASE_MS = 2_000;

/** An append without an answer for this long: nothing more is taken in until it has one. Chosen. */
export const APPEND_STALL_MS_MAX = 3_000;

/** How often the low-water mark is looked up: it costs a walk over all dirty actors. Chosen. */
export const LOW_WATER_MARK_PERIOD_MS = 1_000;
