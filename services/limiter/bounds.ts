/** Every bound of the limiter with unit and reason. Full means a refusal (architecture 3.7). */

/**
 * How long a reservation waits to be settled before it counts as used for good (architecture 4), up
 * to the next tenth of a second.
 */
export const RESERVATION_AGE_MS = 60_000;

/**
 * Open reservations of one account: a second of the fastest account, the local one, each call
 * taking a second. About 2.5 MiB.
 */
export const RESERVATIONS_MAX = 16_384;

/** How long an admission may wait for its turn: then its edge has failed closed (architecture 4). */
export const ADMIT_AGE_MS_MAX = 100;

/** How long an operator's reset waits until it is durable: less than a tool waits for it. */
export const RESET_MS_MAX = 2_500;

/** Usable keys of one account: each costs an admission 0.1 µs. */
export const USABLE_KEYS_MAX = 20;

/**
 * Keys of one account that a month counts by themselves: those that may be used at once, and a dozen
 * that were revoked or rotated meanwhile. At the end of a month some 250 bytes each in every record.
 */
export const COUNTED_KEYS_MAX = 32;

/** Bytes of a request to the admin port: the largest real one has some 300. */
export const ADMIN_BODY_BYTES_MAX = 16_384;

/** How long a request to the admin port may take to arrive. It comes from this machine. */
export const ADMIN_REQUEST_MS_MAX = 5_000;

/** The least step of a watermark: a crash may cost an idle account two of them (architecture 4). */
export const RAISE_MIN = 10;

/**
 * How many steps a raise allows, when half of that is left. Of the two that a crash may cost
 * (architecture 4) it leaves a quarter of one to calls that release theirs. Chosen.
 */
export const RAISED_STEPS = 1.75;

/**
 * Part of a minute's requests that may be reads without a record while a file cannot be written, and
 * that is therefore not granted in the minute after a crash (decision 277). Chosen.
 */
export const UNRECORDED_SHARE = 0.25;

/** A step is what was granted in the last tenth of a second, in milliseconds (architecture 4). */
export const RAISE_OF_USE_MS = 100;

/** Part of a month's quota that crashes may cost without a word. Source: operations, "alerts". */
export const LOST_SHARE_TOLERABLE = 0.001;

/**
 * How old a meter's cached account may be, in milliseconds: the safety net for announcements that
 * were lost (architecture 4).
 */
export const ACCOUNT_AGE_MS_MAX = 30_000;

/** The age from which it is read again in the background, in milliseconds. Chosen. */
export const ACCOUNT_OLD_MS = 15_000;

/** Over how long meters spread that, in milliseconds, so that the store has no peak. Chosen. */
export const ACCOUNT_OLD_SPREAD_MS = 10_000;

/**
 * Open reservations that a closing record carries, the newest; older ones count as used. 64 bytes
 * each, so that the record stays below what the journal takes. Chosen.
 */
export const CLOSING_RESERVATIONS_MAX = 2_048;

/** Last uses of keys that wait to be stored: about 3 MB. What comes beyond is dropped. Chosen. */
export const KEY_USES_MAX = 10_000;

/** How often some of them are stored, in milliseconds. Chosen. */
export const KEY_USES_FLUSH_MS = 1_000;

/** How many of them at a time: the store's share of all notes of 15,000 keys in use. Chosen. */
export const KEY_USES_FLUSHED_MAX = 256;

/** Of those, how many are written at once. Chosen. */
export const KEY_USES_AT_ONCE_MAX = 16;

/** How long one may take to be stored, in milliseconds; then it is given up. Chosen. */
export const KEY_USE_MS_MAX = 2_000;

/** How long a limiter that ends waits for all of them, in milliseconds. Chosen. */
export const KEY_USES_END_MS_MAX = 1_000;
