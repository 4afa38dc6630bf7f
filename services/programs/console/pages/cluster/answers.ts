/** A value, or the reason why the value is unknown. */
export type Known<Value> = { readonly value: Value } | { readonly not_known: string };

/** Answer of `GET /cluster/report`. Durations are in seconds, and null means "not known". */
export type ClusterReport =
  | {
      readonly kind: 'cluster';
      readonly at: string;
      readonly release: string;
      /** Seconds since the answering process began to watch. */
      readonly watched_s: number;
      readonly is_bus_connected: boolean;
      readonly engine: Known<ServiceReport>;
      readonly limiter: Known<ServiceReport>;
    }
  | {
      readonly kind: 'alone';
      readonly at: string;
      readonly release: string;
      readonly engine: LoadReport | null;
      readonly limiter: LoadReport | null;
    };

/** Report of a cluster, not of a single process. */
export type OfCluster = Extract<ClusterReport, { kind: 'cluster' }>;

/** A service's nodes and shards. */
export type ServiceReport = {
  readonly cluster: string;
  readonly shard_count: number;
  readonly table_age_s: number;
  /** Error of the last read of the shard table. Null if that read succeeded. */
  readonly table_fault: string | null;
  readonly nodes: readonly NodeReport[];
  /** Owner of each shard, as an index into `nodes`. */
  readonly owners: readonly (number | null)[];
  /** Number of unserved shards by reason. */
  readonly unserved: Readonly<Record<UnservedState, number>>;
  /** The first unserved shards. The list has a limited length. */
  readonly unserved_shards: readonly UnservedShard[];
  /** Number of shards that move or will move. */
  readonly move_count: number;
  /** The first moves. The list has a limited length. */
  readonly moves: readonly Move[];
  readonly strangers: readonly string[];
};

/** A node with heartbeats, or a shard owner without heartbeats. */
export type NodeReport = {
  readonly node: string | null;
  readonly incarnation: string;
  readonly address: string | null;
  readonly state: 'serving' | 'leaving' | 'wrong clock' | 'sealed' | 'not heard';
  readonly release: string | null;
  readonly since: string | null;
  readonly silent_s: number | null;
  readonly owns: number;
  readonly serves: number | null;
  /** Number of shards that the ring assigns to the node. */
  readonly due: number;
  readonly agrees: boolean | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** Head of a journal. `slots` counts the slots above the low-water mark. */
type JournalReport = {
  readonly slots: number;
  readonly next: number;
  readonly is_sealed: boolean;
};

/** Load figures that a node reports. */
export type LoadReport = {
  readonly actors: number;
  readonly actor_bytes: number;
  readonly unstored_records: number;
  readonly oldest_unstored_s: number | null;
  readonly calls_per_s: number | null;
};

/** Reason why a shard is not served. */
export type UnservedState = 'unowned' | 'not heard' | 'moving';

/** A shard whose calls wait or fail. */
type UnservedShard = {
  readonly shard: number;
  readonly state: UnservedState;
  readonly owner: number | null;
  readonly since_s: number;
};

/** A shard that the ring assigns to another node, or that its new owner does not serve yet. */
export type Move = {
  readonly shard: number;
  readonly kind: 'waits' | 'opens';
  readonly from: number | null;
  readonly to: number | null;
  readonly since_s: number;
};
