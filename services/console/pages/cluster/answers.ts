/** Something that was asked for, or why it is not known now. */
export type Known<Value> = { readonly value: Value } | { readonly not_known: string };

/** `GET /cluster/report`. Times are in seconds, null is "not known". */
export type ClusterReport =
  | {
      readonly kind: 'cluster';
      readonly at: string;
      readonly release: string;
      /** For how long the answering process watches. */
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

/** A report of a cluster. */
export type OfCluster = Extract<ClusterReport, { kind: 'cluster' }>;

/** The nodes and shards of one service. */
export type ServiceReport = {
  readonly cluster: string;
  readonly shard_count: number;
  readonly table_age_s: number;
  /** Why the table of owners could not be read again; null: it was. */
  readonly table_fault: string | null;
  readonly nodes: readonly NodeReport[];
  /** The owner of each shard, as a place in `nodes`. */
  readonly owners: readonly (number | null)[];
  /** How many shards are not served, by why, and the first of them. */
  readonly unserved: Readonly<Record<UnservedState, number>>;
  readonly unserved_shards: readonly UnservedShard[];
  /** How many shards move or will, and the first of them. */
  readonly move_count: number;
  readonly moves: readonly Move[];
  readonly strangers: readonly string[];
};

/** A node that is heard, or an owner of shards that is not. */
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
  /** Its share by the ring. */
  readonly due: number;
  readonly agrees: boolean | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** The head of a journal; `slots` are those above the low-water mark. */
type JournalReport = {
  readonly slots: number;
  readonly next: number;
  readonly is_sealed: boolean;
};

/** What a node says of itself. */
export type LoadReport = {
  readonly actors: number;
  readonly actor_bytes: number;
  readonly unstored_records: number;
  readonly oldest_unstored_s: number | null;
  readonly calls_per_s: number | null;
};

/** Why a shard is not served. */
export type UnservedState = 'unowned' | 'not heard' | 'moving';

/** A shard whose calls wait or fail. */
type UnservedShard = {
  readonly shard: number;
  readonly state: UnservedState;
  readonly owner: number | null;
  readonly since_s: number;
};

/** A shard that is due at another node, or that its new owner does not serve yet. */
export type Move = {
  readonly shard: number;
  readonly kind: 'waits' | 'opens';
  readonly from: number | null;
  readonly to: number | null;
  readonly since_s: number;
};
