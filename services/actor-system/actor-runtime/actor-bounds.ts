/**
 * Bounds of the runtime, each with its unit and reason. A call that exceeds a bound gets 503
 * immediately (architecture 3.7).
 */

/**
 * Maximum number of calls waiting for one actor. At 20 µs per turn a full mailbox is 20 ms of work.
 */
export const MAILBOX_CALLS_MAX = 1_024;

/**
 * Time for which an actor remembers ids of committed calls, in milliseconds. Twice the longest call
 * duration (architecture 3.5).
 */
export const RECENT_CALLS_AGE_MS = 20_000;

/**
 * Maximum number of call ids that an actor remembers: 200 calls a second on one instance for 20 s
 * (architecture 3.5).
 */
export const RECENT_CALLS_MAX = 4_096;

/**
 * Age at which a dirty actor is due for its checkpoint, in milliseconds, while the tail is below
 * half its bound. By then several observations of the actor, and several actors of its bucket,
 * share a write (decision 200).
 */
export const CHECKPOINT_AGE_MS = 120_000;

/**
 * Age at which an urgent state is checkpointed, in milliseconds. A state is urgent if a guarantee
 * to callers depends on the checkpoint, such as a deletion within 20 s. Half of the 20 s is left
 * for a retry (decision 200).
 */
export const URGENT_CHECKPOINT_AGE_MS = 10_000;

/**
 * Maximum number of checkpoint writes in flight per process. More would delay appends (architecture
 * 3.2).
 */
export const CHECKPOINTS_IN_FLIGHT_MAX = 8;

/**
 * Maximum number of concurrent checkpoint writes for lone actors. A lone actor has a pending side
 * effect, or the store refused its last write. The bound is half of all writes, so that repeated
 * failures leave room for other actors.
 */
export const LONE_CHECKPOINTS_IN_FLIGHT_MAX = 4;

/**
 * Longest time that checkpoints may block the event loop, in milliseconds. They block it while they
 * copy actors, and while a store answers synchronously.
 */
export const CHECKPOINT_SLICE_MS = 2;

/**
 * Maximum number of records that are durable in the journal but not checkpointed, per process
 * (architecture 3.2).
 */
export const UNFLUSHED_RECORDS_MAX = 200_000;

/**
 * Fill of the tail above which the oldest actors are stored before they reach `CHECKPOINT_AGE_MS`.
 * Early rows are stored when they fill the same part of their own room.
 *
 * The other half of the tail is reserved for the records of a failed node, and for five seconds
 * without a checkpoint at 20,000 records a second.
 */
export const TAIL_FILL_DUE = 0.5;

/**
 * Maximum fill of the tail, or of the room for early rows, at which recovered records are replayed.
 * A takeover also replays records that the former owner had already stored, so the rest of the room
 * is kept for new calls.
 */
export const REPLAY_FILL_MAX = 0.9;

/**
 * Interval at which a replay checks for room, in milliseconds. About the duration of a checkpoint.
 */
export const REPLAY_LOOK_MS = 20;

/**
 * Maximum estimated bytes of unstored rows, per process: 671 bytes for each of
 * `UNFLUSHED_RECORDS_MAX` records. An observation takes 50 bytes and its context, and a drift event
 * 450 bytes more. A recovered observation takes 350 bytes and its context more until it is stored.
 */
export const UNFLUSHED_BYTES_MAX = 128 * 1_024 * 1_024;

/**
 * Maximum bytes of early rows that wait to be stored, per process. Above half of this limit, the
 * bucket that has waited longest is written. With 4,096 buckets each such write has about 16 KiB,
 * which is seven answers.
 */
export const EARLY_ROWS_BYTES_MAX = 128 * 1_024 * 1_024;

/**
 * Maximum bytes per write of early rows, for at most `HEADS_MAX` actors. Small, so that a write
 * does not block the event loop.
 */
export const EARLY_WRITE_BYTES_MAX = 256 * 1_024;

/**
 * Maximum number of concurrent early-row writes per process, in addition to checkpoints. Half the
 * number of checkpoint writes.
 */
export const EARLY_WRITES_IN_FLIGHT_MAX = 4;

/**
 * Interval between two sweeps for idle and dirty actors, in milliseconds. A tenth of the shortest
 * age that triggers an action.
 */
export const SWEEP_PERIOD_MS = 1_000;

/**
 * Maximum number of activations that one sweep checks. Such a sweep takes 50 µs, so calls hardly
 * wait for it.
 */
export const SWEEP_ACTORS_MAX = 2_000;

/**
 * Time for which records without a waiting caller gather before an append, in milliseconds.
 *
 * A limiter raises its watermarks nearly 0.1 s ahead of need. An append costs the store the same
 * for one such record as for a thousand.
 */
export const GROUP_LINGER_MS = 10;

/** Maximum number of records in one journal group (architecture 3.1). */
export const GROUP_RECORDS_MAX = 4_096;

/**
 * Maximum bytes of the records in a journal group (architecture 3.1). Cassandra refuses batches of
 * 8 MiB.
 */
export const GROUP_BYTES_MAX = 512 * 1_024;

/**
 * Maximum bytes of one record, estimated by its actor (architecture 3.1). The JSON text may be
 * three times as long.
 */
export const RECORD_BYTES_MAX = 300 * 1_024;

/**
 * Maximum number of journal groups in flight. While the seal check of one group runs, the next
 * group is written (decision 191).
 */
export const APPENDS_IN_FLIGHT_MAX = 2;

/**
 * Duration of the read lease, in milliseconds, counted from the start of a successful append.
 * Within the lease answers may come from memory (architecture 3.3).
 */
export const LEASE_MS = 2_000;

/**
 * Maximum time of an append without an answer, in milliseconds. After this time the log refuses
 * commits until the append is answered.
 */
export const APPEND_STALL_MS_MAX = 3_000;

/**
 * Minimum time between two computations of the low-water mark, in milliseconds. Each computation
 * iterates over all dirty actors.
 */
export const LOW_WATER_MARK_PERIOD_MS = 1_000;

/**
 * Time for which the notices of a receiver gather before a call, in milliseconds. A call costs its
 * receiver an append, whatever the number of notices.
 */
export const NOTICES_LINGER_MS = 50;

/** Maximum number of notices in one call to a receiver. */
export const NOTICES_PER_CALL_MAX = 1_024;

/**
 * Maximum bytes of the notices in one call, estimated. The receiver commits them as one record, so
 * the bound is below `RECORD_BYTES_MAX`. A single larger notice is sent alone.
 */
export const NOTICES_PER_CALL_BYTES_MAX = 192 * 1_024;

/**
 * Maximum bytes of unsent notices for one receiver, estimated: ten seconds of 5,000 notices a
 * second. Above, changes for this receiver are refused, and other receivers are not affected.
 */
export const RECEIVER_BYTES_MAX = 16 * 1_024 * 1_024;

/**
 * Time for which calls to a receiver may fail before changes for this receiver are refused, in
 * milliseconds. An actor with an unsent notice is not stored, so its further records would fill the
 * tail, and the node would refuse the calls of all accounts. Longer than a take-over.
 */
export const RECEIVER_AWAY_MS_MAX = 20_000;

/** Maximum bytes of unsent notices for all receivers of a process, estimated. */
export const NOTICES_BYTES_MAX = 64 * 1_024 * 1_024;

/** First pause before a failed call to a receiver is repeated, in milliseconds. The pause doubles. */
export const NOTICE_RETRY_MS_MIN = 50;

/** Maximum pause before a failed call to a receiver is repeated, in milliseconds. */
export const NOTICE_RETRY_MS_MAX = 2_000;

/** Time after which a checkpoint stops waiting for unsent notices, in milliseconds. */
export const UNSENT_WAIT_MS_MAX = 10_000;
