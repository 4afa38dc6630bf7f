/** The services whose actors are sharded. */
export type ShardedService = 'engine' | 'limiter';

/** Who owns a shard. Source: architecture 3. */
export type ShardRow = {
  readonly shard: number;
  /** The incarnation that owns it. */
  readonly owner: string;
  /** Grows by one with every change of the owner. */
  readonly epoch: number;
};

/** A change of owner under the condition that the row still is what the writer believes. */
export type ShardChange = {
  readonly service: ShardedService;
  readonly shard: number;
  /** Undefined: the shard has never had an owner. */
  readonly from: ShardRow | undefined;
  /** The new owner; the epoch becomes one more than `from`'s, or 1. */
  readonly owner: string;
};

/**
 * Who owns which shard: one row a shard, changed only by compare and set. Methods reject with
 * `service_unavailable` when the store gives no answer; with `isOutcomeUnknown` a change may have
 * happened or may yet happen.
 */
export interface ShardStore {
  /** The id of the cluster whose tables these are: the one that stands, or `wanted` for good. */
  fixCluster(wanted: string): Promise<string>;
  /**
   * The number of shards of a service: the one that stands, or `wanted`, which then stands for
   * good. Several callers at once get the same number.
   */
  fixCount(service: ShardedService, wanted: number): Promise<number>;
  /** The number of shards of a service that stands; undefined before a first node has asked. */
  countOf(service: ShardedService): Promise<number | undefined>;
  /** The rows of all shards that ever had an owner; may lag behind changes under way. */
  load(service: ShardedService, count: number): Promise<ShardRow[]>;
  /** One row, seen after every change that was applied. */
  read(service: ShardedService, shard: number): Promise<ShardRow | undefined>;
  /** Changes the owner. Not applied: `row` is what stands there. */
  change(change: ShardChange): Promise<{ isApplied: boolean; row: ShardRow | undefined }>;
}

/** The clocks of the servers that keep the data. */
export interface ServerClocks {
  /**
   * What each server shows that is up and answers in time, in Unix milliseconds. Rejects with
   * `service_unavailable` when none can be asked.
   */
  read(): Promise<readonly number[]>;
}

/**
 * Remembers, beside the data of its only process and beyond that one's end, whether calls may have been
 * granted without a record. Methods reject with `service_unavailable` when nothing can be written.
 */
export interface DirtyFlag {
  /** Sets the flag, durably. Answers whether it was set: an earlier process has not cleared it. */
  set(): Promise<boolean>;
  /** Says that nothing of the kind still counts. */
  clear(): Promise<void>;
}
