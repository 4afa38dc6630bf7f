/**
 * Length of a key prefix: the first characters of a key's digest, which identify the key within its
 * account. With 48 bits, prefixes of an account's keys do not collide in practice.
 */
export const KEY_PREFIX_LENGTH = 8;

/** Number of finished months that are kept per account. */
export const MONTHS_KEPT = 12;

/** Usage of one API key in a month. */
export type KeyCycles = {
  /** First `KEY_PREFIX_LENGTH` characters of the key's digest. */
  readonly prefix: string;
  readonly cycles: number;
  /** Cycles by day, in the form of `MonthDays` (`limiter/meter/usage`); absent: no cycles. */
  readonly days?: readonly number[];
};

/** Usage of an account in a finished month. */
export type FinishedMonth = {
  /** End of the month, in Unix milliseconds. */
  readonly endsAtMs: number;
  readonly cyclesUsed: number;
  /** Cycles by day, in the form of `MonthDays`. */
  readonly days: readonly number[];
  /** Cycles by key. Cycles of unknown keys are missing. */
  readonly keys: readonly KeyCycles[];
};

/** Cycles reserved for a call, as stored for the next owner of the meter. */
export type StoredReservation = {
  readonly callId: number;
  /** Tag of a keyed call, which distinguishes calls with the same id; 0 for other calls. */
  readonly callTag: number;
  readonly cycles: number;
  /** Highest usage that any call with this id reported. */
  readonly used: number;
  /** Number of calls admitted under this id that are not settled. */
  readonly callsOpen: number;
  /** End of the month in which the cycles were granted, in Unix milliseconds. */
  readonly monthEndsAtMs: number;
  /** Time after which the reserved cycles are used, in Unix milliseconds. */
  readonly expiresAtMs: number;
  /** Prefix of the charged key, which is in the record's keys; absent if there is no key. */
  readonly key?: string;
};

/**
 * Durable state of a meter. Nothing else survives a crash (architecture 4). Immutable: neither the
 * store nor its user changes a record.
 */
export type MeterRecord = {
  /** End of the counted month, in Unix milliseconds; 0: no month was counted. */
  readonly monthEndsAtMs: number;
  /**
   * Durable watermark of the month: cycles that may be granted. The next owner counts all these
   * cycles as used.
   */
  readonly monthWatermark: number;
  /** Cycles of the watermark that were certainly used at the time of the record. */
  readonly cyclesUsed: number;
  /** Used cycles of expired reservations. */
  readonly cyclesExpired: number;
  /** Used cycles that may have been lost in crashes. */
  readonly cyclesLost: number;
  /** End of the last window, in Unix milliseconds; 0 if there was none. */
  readonly windowEndsAtMs: number;
  /** Durable watermark of that window: requests that may be granted. */
  readonly windowWatermark: number;
  /**
   * Requests of that watermark that were granted without a record or are treated as granted; absent
   * if there are none.
   */
  readonly unrecorded?: number;
  /** Used cycles by day (`MonthDays`); absent if the days are unknown or no cycles were used. */
  readonly days?: readonly number[];
  /** Used cycles by key; absent if no key is known. */
  readonly keys?: readonly KeyCycles[];
  /**
   * Finished months that may not be stored separately yet, oldest first; absent if there are none.
   */
  readonly finished?: readonly FinishedMonth[];
  /** Reservations of a closing record, oldest first; empty in other records. */
  readonly reservations: readonly StoredReservation[];
};

/** Meter at one version. Content is unique per (account, version). */
export type MeterHead = MeterRecord & {
  /** Increases by one per record. Never starts again. */
  readonly version: number;
};

/** Meter to be stored. */
export type MeterCheckpoint = { readonly accountId: string; readonly head: MeterHead };

/**
 * Store of meters that are not in memory. Heads have versions as in `InstanceStore` (architecture
 * 3.2): the higher version wins, even if writes arrive late or twice. Methods reject with
 * `service_unavailable`.
 */
export interface MeterStore {
  /**
   * Bucket of an account's meter. Meters of a bucket are stored together. The bucket never changes.
   */
  bucketOf(accountId: string): number;
  /** Head of the highest version ever stored; undefined if there is none. */
  readHead(accountId: string): Promise<MeterHead | undefined>;
  /**
   * Stores at most `HEADS_MAX` heads of one bucket, as `InstanceStore` stores its heads. Stores
   * their finished months separately. May be repeated and may arrive late, in any order: a version
   * below the stored version changes nothing.
   */
  checkpoint(checkpoints: readonly MeterCheckpoint[]): Promise<void>;
}

/** Finished months, which `MeterStore` stores separately. Rejects with `service_unavailable`. */
export interface MonthStore {
  /** Stored months of an account, newest first, at most `MONTHS_KEPT`. */
  readMonths(accountId: string): Promise<readonly FinishedMonth[]>;
}

/** Meters and months for tools that erase accounts. */
export interface ErasableMeters extends MeterStore, MonthStore {
  /**
   * Deletes an account's meter and its finished months permanently. Later writes are dropped. May
   * be repeated.
   */
  erase(accountId: string): Promise<void>;
}
