import type { KeptEndpoint } from '#webhooks/endpoint';

/**
 * Number of rows in a chunk of a feed. Chunk `n` holds the rows with positions from `n` times this
 * number on.
 */
export const FEED_CHUNK_ROWS = 256;

/** Time for which rows are kept, in milliseconds: seven days. */
export const FEED_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum number of rows of a feed on a disk. */
export const FEED_ROWS_MAX = 10_000_000;

/**
 * A transition as numbers: the position of its type in `TRANSITIONS`, the cycle, and the values of
 * this type. Source: `identity/transitions`.
 */
export type Transition = readonly number[];

/**
 * Transitions of one committed change of an instance, in order. The time is the server time of the
 * commit, in Unix milliseconds.
 */
export type FeedRow = readonly [
  instanceId: string,
  version: number,
  atMs: number,
  transitions: readonly Transition[],
];

/** First position of the rows that were recorded in an hour. */
export type FeedHour = readonly [
  /** Number of the hour since 1970. */
  hour: number,
  first: number,
];

/**
 * Feed of an account at one version: the newest rows, and the numbers of the chunks before them.
 * Immutable: neither the store nor its user changes a head.
 */
export type FeedHead = {
  /** Increases by one per record. Never starts again. */
  readonly version: number;
  /** Position of the next row. Positions count all rows of the feed, from 0. */
  readonly next: number;
  /** Position of the first available row. */
  readonly floor: number;
  /** Hours with rows, oldest first, at most the hours of `FEED_AGE_MS`. */
  readonly hours: readonly FeedHour[];
  /** Rows after the last whole chunk, at most `FEED_CHUNK_ROWS - 1`. */
  readonly newest: readonly FeedRow[];
  /** Webhook endpoints of the account, oldest first, at most `ENDPOINTS_MAX`. */
  readonly endpoints: readonly KeptEndpoint[];
};

/** A whole chunk of rows. The rows of a chunk never change. */
export type FeedChunk = {
  readonly chunk: number;
  /** Exactly `FEED_CHUNK_ROWS` rows. */
  readonly rows: readonly FeedRow[];
};

/** Feed to be stored: its head, and the chunks that became whole since the last checkpoint. */
export type FeedCheckpoint = {
  readonly accountId: string;
  readonly head: FeedHead;
  readonly chunks: readonly FeedChunk[];
};

/** Number of parts of a stored index. The store does not know their content. */
export const INDEX_PARTS = 256;

/** Maximum size of a stored part of an index, in bytes. */
export const INDEX_PART_BYTES_MAX = 4 * 1_024 * 1_024;

/** Store of the indexes that are made from feeds. Methods reject with `service_unavailable`. */
export interface IndexStore {
  /**
   * Stores a part of the index of an account, which replaces the part with this number. An index is
   * made from heads and the feed, so parts may get lost, and a late write may replace a newer one.
   * `atMs`: time of the content, in Unix milliseconds.
   */
  putIndexPart(accountId: string, part: number, bytes: Buffer, atMs: number): Promise<void>;
  /** A stored part of the index of an account; undefined if there is none. */
  indexPart(accountId: string, part: number): Promise<Buffer | undefined>;
}

/**
 * Store of feeds that are not in memory. Heads have versions as in `InstanceStore` (architecture
 * 3.2): the higher version wins, even if writes arrive late or twice. Methods reject with
 * `service_unavailable`.
 */
export interface FeedStore extends IndexStore {
  /** Maximum number of rows of a feed. Older rows are dropped before their age. */
  readonly rowsMax: number;
  /**
   * Bucket of an account's feed. Feeds of a bucket are stored together. The bucket never changes.
   */
  bucketOf(accountId: string): number;
  /** Head of the highest version ever stored; undefined if there is none. */
  readHead(accountId: string): Promise<FeedHead | undefined>;
  /**
   * Rows of the chunks from `first` to `last`, in order. A chunk that does not exist, or whose rows
   * have expired, is missing from the answer.
   */
  readChunks(accountId: string, first: number, last: number): Promise<readonly FeedChunk[]>;
  /**
   * Stores at most `HEADS_MAX` feeds of one bucket: chunks first, then heads. May be repeated and
   * may arrive late, in any order: a version below the stored version changes no head. Chunks below
   * the floor of a head may be deleted.
   */
  checkpoint(checkpoints: readonly FeedCheckpoint[]): Promise<void>;
  /**
   * Lists an account in `withEndpoints` permanently, until its feed is erased. Must be done before
   * an endpoint of the account is in use. May be repeated.
   */
  listEndpoints(accountId: string): Promise<void>;
  /** Accounts of a bucket that have or had webhook endpoints, in any order. */
  withEndpoints(bucket: number): Promise<readonly string[]>;
}

/** Feeds for tools that erase and copy accounts. */
export interface ErasableFeeds extends FeedStore {
  /** Deletes an account's feed permanently. Later writes are dropped. May be repeated. */
  erase(accountId: string): Promise<void>;
}
