/**
 * Characters of a key's digest, from its beginning, that name it within its account: 48 bits, so that no
 * two of its keys are ever taken for one.
 */
export const KEY_PREFIX_LENGTH = 8;

/** Finished months of an account that are kept. */
export const MONTHS_KEPT = 12;

/** What one key has used of a month. */
export type KeyCycles = {
  /** The first `KEY_PREFIX_LENGTH` characters of its digest. */
  readonly prefix: string;
  readonly cycles: number;
  /** Which day they are of (`month-days`); absent: there are none. */
  readonly days?: readonly number[];
};

/** A month that is over: all that was used in it. */
export type FinishedMonth = {
  /** Unix ms. */
  readonly endsAtMs: number;
  readonly cyclesUsed: number;
  /** Which day they are of (`month-days`). */
  readonly days: readonly number[];
  /** Of them; what is missing in their sum is of no key that is known. */
  readonly keys: readonly KeyCycles[];
};

/** Cycles held for a call, as they outlive the process that holds them. */
export type StoredReservation = {
  readonly callId: number;
  /** What a keyed call has besides its id, else 0: another call of the same id has another tag. */
  readonly callTag: number;
  readonly cycles: number;
  /** The most that any of its calls reported. */
  readonly used: number;
  /** Calls admitted under this id that no settlement has reached. */
  readonly callsOpen: number;
  /** Which month the cycles were granted in: Unix ms of its end. */
  readonly monthEndsAtMs: number;
  /** Unix ms after which it counts as used. */
  readonly expiresAtMs: number;
  /** The prefix of the key that it is charged to, one of the record's; absent: to none. */
  readonly key?: string;
};

/**
 * What records hold of a meter; nothing else of it outlives a crash (architecture 4). A value:
 * neither the store nor its user ever changes one.
 */
export type MeterRecord = {
  /** Unix ms at which the month that is counted ends; 0: none has been counted. */
  readonly monthEndsAtMs: number;
  /**
   * The month's durable watermark: cycles that may be granted; the next owner takes them as used.
   */
  readonly monthWatermark: number;
  /** Of those, used for certain at the time of the record. */
  readonly cyclesUsed: number;
  /** Of the used ones, cycles of reservations that expired. */
  readonly cyclesExpired: number;
  /** Of the used ones, cycles that crashes may have cost. */
  readonly cyclesLost: number;
  /** Unix ms at which the last window ends; 0: none. */
  readonly windowEndsAtMs: number;
  /** The durable watermark of that window: requests that may be granted. */
  readonly windowWatermark: number;
  /** Of that, requests that were granted without a record, or count as if they had been; absent: none. */
  readonly unrecorded?: number;
  /** Which day the used cycles are of (`month-days`); absent: not known, or none were used. */
  readonly days?: readonly number[];
  /** Of the used ones, what each key has used; absent: none is known. */
  readonly keys?: readonly KeyCycles[];
  /** Months that are over and may not be stored by themselves yet, oldest first; absent: none. */
  readonly finished?: readonly FinishedMonth[];
  /** Only a closing record has any, oldest first. */
  readonly reservations: readonly StoredReservation[];
};

/** A meter as of one version. Content is unique per (account, version). */
export type MeterHead = MeterRecord & {
  /** Grows by one per record, for life. */
  readonly version: number;
};

/** One meter to be stored. */
export type MeterCheckpoint = { readonly accountId: string; readonly head: MeterHead };

/**
 * The meters' states while they are not in memory. Versioned like `InstanceStore` (architecture
 * 3.2): of two heads the higher version wins, whatever comes late or twice. Methods throw
 * `service_unavailable`.
 */
export interface MeterStore {
  /** Meters of accounts with the same bucket are stored together; fixed for each. */
  bucketOf(accountId: string): number;
  /** The head of the highest version ever stored, or undefined. */
  readHead(accountId: string): Promise<MeterHead | undefined>;
  /**
   * Stores at most `HEADS_MAX` heads of one bucket, as `InstanceStore` stores its heads, and by
   * themselves the finished months that they name. May be repeated and may come late, in any order: a
   * version below the stored one changes nothing.
   */
  checkpoint(checkpoints: readonly MeterCheckpoint[]): Promise<void>;
}

/** Months that are over, as `MeterStore` keeps them by themselves. Throws `service_unavailable`. */
export interface MonthStore {
  /** Those of an account that were ever stored, newest first, at most `MONTHS_KEPT`. */
  readMonths(accountId: string): Promise<readonly FinishedMonth[]>;
}

/** Meters and months as tools end them. */
export interface ErasableMeters extends MeterStore, MonthStore {
  /**
   * Removes an account's meter and its finished months for good: what is stored of it later is dropped. May be repeated.
   */
  erase(accountId: string): Promise<void>;
}
