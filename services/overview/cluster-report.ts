import type { Known } from '#overview/known';
import type { SeenNode } from '#overview/snapshot-nodes';

/** A cluster as an operator sees it, made for JSON. Times are in seconds, null is "not known". */
export type ClusterReport =
  | {
      readonly kind: 'cluster';
      readonly at: string;
      /** Of the process that answers. */
      readonly release: string;
      /** For how long it has watched: what lasts longer than that may last longer still. */
      readonly watched_s: number;
      /** Whether it hears others at all. */
      readonly is_bus_connected: boolean;
      readonly engine: Known<ServiceReport>;
      readonly limiter: Known<ServiceReport>;
    }
  | {
      /** On memory: the process that answers is a node of no cluster. */
      readonly kind: 'alone';
      readonly at: string;
      readonly release: string;
      /** What this process has in memory; null: it is no such service. */
      readonly engine: LoadReport | null;
      readonly limiter: LoadReport | null;
    };

/** The nodes and shards of one service. */
export type ServiceReport = {
  /** Id of the cluster. */
  readonly cluster: string;
  readonly shard_count: number;
  /** How old the table of owners is, and why it could not be read again; null: it was. */
  readonly table_age_s: number;
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
  /** Clusters that speak under the same subjects. */
  readonly strangers: readonly string[];
};

/** A node that is heard, or an owner of shards that is not. */
export type NodeReport = {
  readonly node: string | null;
  readonly incarnation: string;
  readonly address: string | null;
  readonly state: SeenNode['state'];
  readonly release: string | null;
  readonly since: string | null;
  /** Since it was last heard; null: never. */
  readonly silent_s: number | null;
  readonly owns: number;
  readonly serves: number | null;
  /** Its share by the ring. */
  readonly due: number;
  /** Whether it sees the nodes that the answering process sees. */
  readonly agrees: boolean | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** The head of a journal. */
export type JournalReport = {
  /** Slots above the low-water mark: what a successor would have to read. */
  readonly slots: number;
  readonly next: number;
  readonly is_sealed: boolean;
};

/** What a node says of itself. */
export type LoadReport = {
  readonly actors: number;
  readonly actor_bytes: number;
  /** Records that no checkpoint has stored, and for how long the oldest waits; null: there is none. */
  readonly unstored_records: number;
  readonly oldest_unstored_s: number | null;
  /** Between the last two looks; null: there was one. */
  readonly calls_per_s: number | null;
};

/** Why a shard is not served, as `ctl shards` names it. */
export type UnservedState = 'unowned' | 'not heard' | 'moving';

/** A shard whose calls wait or fail. */
export type UnservedShard = {
  readonly shard: number;
  readonly state: UnservedState;
  /** A place in `nodes`. */
  readonly owner: number | null;
  readonly since_s: number;
};

/** A shard that is owned by one node and due at another, or that its new owner does not serve yet. */
export type Move = {
  readonly shard: number;
  readonly kind: 'waits' | 'opens';
  /** Places in `nodes`. */
  readonly from: number | null;
  readonly to: number | null;
  readonly since_s: number;
};
