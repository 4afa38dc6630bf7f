/** Services whose actors are sharded. */
export type ShardedService = 'engine' | 'limiter';

/** Owner of a shard. Source: architecture 3. */
export type ShardRow = {
  readonly shard: number;
  /** Incarnation that owns the shard. */
  readonly owner: string;
  /** Fencing epoch: increases by one with every change of the owner. */
  readonly epoch: number;
};

/** Change of a shard's owner by compare-and-set: applied if the stored row still equals `from`. */
export type ShardChange = {
  readonly service: ShardedService;
  readonly shard: number;
  /** Row to replace. Undefined: the shard has never had an owner. */
  readonly from: ShardRow | undefined;
  /** New owner. Its epoch is the epoch of `from` plus one, or 1. */
  readonly owner: string;
};

/**
 * Owners of shards: one row per shard, changed only by compare-and-set. Methods reject with
 * `service_unavailable` if the store does not answer. With `isOutcomeUnknown`, a change may have
 * happened or may still happen.
 */
export interface ShardStore {
  /**
   * Sets the id of the cluster, unless an id is stored. Returns the stored id: an earlier id, or
   * `wanted`.
   */
  fixCluster(wanted: string): Promise<string>;
  /**
   * Sets the shard count of a service, unless a count is stored. Returns the stored count: an
   * earlier count, or `wanted`. Concurrent callers get the same count.
   */
  fixCount(service: ShardedService, wanted: number): Promise<number>;
  /** Stored shard count of a service; undefined until the first node has set the count. */
  countOf(service: ShardedService): Promise<number | undefined>;
  /** Rows of all shards that ever had an owner. May miss changes in flight. */
  load(service: ShardedService, count: number): Promise<ShardRow[]>;
  /** Row of a shard. Sees every applied change. */
  read(service: ShardedService, shard: number): Promise<ShardRow | undefined>;
  /** Changes the owner. If the change is not applied, `row` is the stored row. */
  change(change: ShardChange): Promise<{ isApplied: boolean; row: ShardRow | undefined }>;
}

/** Clocks of the database servers. */
export interface ServerClocks {
  /**
   * Time on each server that is up and answers in time, in Unix milliseconds. Rejects with
   * `service_unavailable` if no server answers.
   */
  read(): Promise<readonly number[]>;
}

/**
 * Durable flag of a deployment with a single process. The flag is set while calls may have been
 * granted without a record. It is stored next to the data and survives the process. Methods reject
 * with `service_unavailable` if nothing can be written.
 */
export interface DirtyFlag {
  /**
   * Sets the flag durably. Returns whether the flag was already set, because an earlier process has
   * not cleared it.
   */
  set(): Promise<boolean>;
  /** Clears the flag, when every granted call has a record. */
  clear(): Promise<void>;
}
