/**
 * Bounds for the limiter, each with unit and reason. Calls beyond a bound are refused
 * (architecture 3.7).
 */

/**
 * Time until an unsettled reservation is charged as used, in milliseconds (architecture 4). Rounded
 * up to the next tenth of a second.
 */
export const RESERVATION_AGE_MS = 60_000;

/**
 * Maximum number of open reservations per account, about 2.5 MiB. Sufficient for the fastest
 * (local) account at one second per call.
 */
export const RESERVATIONS_MAX = 16_384;

/**
 * Maximum time that an admission waits for its turn, in milliseconds. An edge stops waiting
 * earlier, because its equal timeout begins earlier (architecture 4).
 */
export const ADMIT_AGE_MS_MAX = 100;

/**
 * Maximum time until an operator's reset is durable, in milliseconds. Shorter than the tools'
 * timeout.
 */
export const RESET_MS_MAX = 2_500;

/** Maximum number of usable keys per account. Each key adds 0.1 µs to an admission. */
export const USABLE_KEYS_MAX = 20;

/**
 * Maximum number of keys per account that a month counts separately: all usable keys and a dozen
 * revoked or rotated keys. At a month's end, each key adds about 250 bytes to every record.
 */
export const COUNTED_KEYS_MAX = 32;

/** Maximum admin port request size, in bytes. Real requests have at most about 300. */
export const ADMIN_BODY_BYTES_MAX = 16_384;

/**
 * Maximum time for receiving a request to the admin port, in milliseconds. Clients are on this
 * machine.
 */
export const ADMIN_REQUEST_MS_MAX = 5_000;

/** Minimum watermark step. A crash can cost an idle account two steps (architecture 4). */
export const RAISE_MIN = 10;

/**
 * Number of steps that a raise pre-allocates. The meter raises again when half of the allowance
 * remains. A crash can lose up to two steps (architecture 4); 1.75 leaves a quarter step for
 * refunds.
 */
export const RAISED_STEPS = 1.75;

/**
 * Share of a minute's requests that can be reads without a record while a file cannot be written.
 * The same share is withheld for a minute after a crash (decision 277).
 */
export const UNRECORDED_SHARE = 0.25;

/** Period whose grants determine a watermark's step, in milliseconds (architecture 4). */
export const RAISE_OF_USE_MS = 100;

/** Monthly quota share that crashes may lose without an alert. Source: operations, "alerts". */
export const LOST_SHARE_TOLERABLE = 0.001;

/**
 * Maximum age for a meter's cached account, in milliseconds. Covers lost announcements
 * (architecture 4).
 */
export const ACCOUNT_AGE_MS_MAX = 30_000;

/** Age at which a cached account is read again in the background, in milliseconds. */
export const ACCOUNT_OLD_MS = 15_000;

/**
 * Period over which meters spread the background reads of accounts, in milliseconds. Prevents load
 * peaks on the store.
 */
export const ACCOUNT_OLD_SPREAD_MS = 10_000;

/**
 * Maximum number of reservations in a closing record. The record contains the newest; the next
 * owner charges all others as used. At 64 bytes each, the record fits the journal's limit.
 */
export const CLOSING_RESERVATIONS_MAX = 2_048;

/** Maximum number of queued key uses, about 3 MB. Further uses are dropped. */
export const KEY_USES_MAX = 10_000;

/** Interval between two flushes of key uses, in milliseconds. */
export const KEY_USES_FLUSH_MS = 1_000;

/** Maximum number of key uses per flush. Bounds the store's load with 15,000 keys in use. */
export const KEY_USES_FLUSHED_MAX = 256;

/** Maximum number of concurrent key use writes. */
export const KEY_USES_AT_ONCE_MAX = 16;

/** Timeout for storing a key use, in milliseconds. Afterwards the use is dropped. */
export const KEY_USE_MS_MAX = 2_000;

/** Timeout for storing all key uses on shutdown, in milliseconds. */
export const KEY_USES_END_MS_MAX = 1_000;
