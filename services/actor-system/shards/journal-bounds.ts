/* Bounds of a cluster node, each with its value, unit and reason. */
import type { ShardedService } from '#storage/ports/cluster';

/**
 * Maximum interval between empty groups that an idle node appends as a heartbeat, in milliseconds
 * (architecture 3.1). Shorter for limiters, so that a stopped limiter is noticed earlier.
 */
export const JOURNAL_BEAT_MS: Readonly<Record<ShardedService, number>> = {
  engine: 1_000,
  limiter: 500,
};

/** Minimum number of slots below the low-water mark for a deletion. Source: architecture 3.1. */
export const TRUNCATION_SLOTS_MIN = 1_000;

/**
 * Minimum size of the slots below the low-water mark for a deletion, in bytes. Source: architecture
 * 3.1.
 */
export const TRUNCATION_BYTES_MIN = 4 * 1_024 * 1_024;

/**
 * Time since the last deletion after which any slot below the low-water mark is deleted, in
 * milliseconds. Source: architecture 3.1.
 */
export const TRUNCATION_AGE_MS = 10_000;

/** Pause before a failed append, seal check or start of a journal is retried, in milliseconds. */
export const APPEND_RETRY_MS = 100;

/**
 * `retryAfterS` of calls that are refused while the journal cannot be written, in seconds. Same
 * value as for a full disk.
 */
export const UNWRITABLE_RETRY_S = 5;

/**
 * Pause before the actors of a closing shard are stored again after a failure, in milliseconds. A
 * tenth of a sweep period.
 */
export const EFFECT_RETRY_MS = 100;

/** Slots per read at the start of a tail, and after a read that was too large. At most 16 MiB. */
export const TAIL_READ_SLOTS_MIN = 32;

/**
 * Maximum number of slots per read while the slots of a tail are small. Such large reads take 60 %
 * of the time of small reads.
 */
export const TAIL_READ_SLOTS_MAX = 512;

/**
 * Target size of a tail read, in bytes. After a larger read the slot count is halved; after a read
 * below half of this size it is doubled.
 */
export const TAIL_READ_BYTES = 1_024 * 1_024;

/** Maximum number of tail reads in flight, so that the next slots are ready without a wait. */
export const TAIL_READS_IN_FLIGHT_MAX = 4;

/** Number of actors with recovered records that one background pass activates: 3,200 a second. */
export const EAGER_ACTORS = 32;

/**
 * Delay of the first background activation after a take-over begins, in milliseconds. Callers
 * activate the actors that they need, and hundreds of head reads would delay the claims.
 */
export const EAGER_DELAY_MS = 1_000;

/** Pause between two passes of background activation, in milliseconds. */
export const EAGER_PERIOD_MS = 10;

/**
 * Number of passes without a replayed actor before the pause grows. A slow read takes a few passes.
 */
export const EAGER_FRUITLESS_MAX = 20;

/**
 * Pause between passes that replay nothing, in milliseconds. Actors that cannot be activated are
 * reported at this rate.
 */
export const EAGER_STUCK_MS = 1_000;

/** Interval at which a closing shard is checked for busy actors, in milliseconds. */
export const CLOSE_POLL_MS = 2;

/**
 * First pause before a fenced node rejoins, in milliseconds. Each further pause is twice as long.
 * Source: architecture 3.1.
 */
export const REJOIN_MS_MIN = 1_000;

/** Longest pause before a fenced node rejoins, in milliseconds. Source: architecture 3.1. */
export const REJOIN_MS_MAX = 30_000;

/**
 * Lifetime of an incarnation after which the rejoin pause starts again at its minimum, in
 * milliseconds.
 */
export const REJOIN_RESET_MS = 60_000;

/**
 * Deadline for handing off all shards when a node stops, in milliseconds. The process itself has
 * more time.
 */
export const LEAVE_MS_MAX = 10_000;

/** Deadline for writing the final low-water mark when a node stops, in milliseconds. */
export const MARK_MS_MAX = 2_000;
