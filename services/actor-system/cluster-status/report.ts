import type { Durations } from '#cluster-status/durations';
import type { Known } from '#cluster-status/partial-answer';
import {
  type ClusterSnapshot,
  ringOf,
  type SeenNode,
  type SeenShard,
  shardsOf,
} from '#cluster-status/snapshot';

/**
 * Cluster report for operators, as JSON. Times are in seconds; null means "not known" unless stated
 * otherwise.
 */
export type ClusterReport =
  | {
      readonly kind: 'cluster';
      readonly at: string;
      /** Release of the answering process. */
      readonly release: string;
      /**
       * Seconds since watching began. A condition with about this duration may have begun earlier.
       */
      readonly watched_s: number;
      /** Whether the answering process is connected to the bus. */
      readonly is_bus_connected: boolean;
      readonly engine: Known<ServiceReport>;
      readonly limiter: Known<ServiceReport>;
    }
  | {
      /** In-memory storage: the answering process is not a node of any cluster. */
      readonly kind: 'alone';
      readonly at: string;
      readonly release: string;
      /** Actors in the memory of this process. Null if the process does not run the service. */
      readonly engine: LoadReport | null;
      readonly limiter: LoadReport | null;
    };

/** Report on the nodes and shards of one service. */
export type ServiceReport = {
  /** Id of the cluster. */
  readonly cluster: string;
  readonly shard_count: number;
  /** Seconds since the owner table was last read. */
  readonly table_age_s: number;
  /** Reason why the latest read of the owner table failed. Null if the read succeeded. */
  readonly table_fault: string | null;
  readonly nodes: readonly NodeReport[];
  /** Owner of each shard, as an index into `nodes`. */
  readonly owners: readonly (number | null)[];
  /** Number of unserved shards by state. */
  readonly unserved: Readonly<Record<UnservedState, number>>;
  /** The first unserved shards. */
  readonly unserved_shards: readonly UnservedShard[];
  /** Number of shards that move or should move. */
  readonly move_count: number;
  /** The first shards that move or should move. */
  readonly moves: readonly Move[];
  /** Other clusters that use the same subjects. */
  readonly strangers: readonly string[];
};

/** Node that is heard, or shard owner that is not heard. */
export type NodeReport = {
  readonly node: string | null;
  readonly incarnation: string;
  readonly address: string | null;
  readonly state: SeenNode['state'];
  readonly release: string | null;
  readonly since: string | null;
  /** Seconds since the last heartbeat. Null if the node was never heard. */
  readonly silent_s: number | null;
  readonly owns: number;
  readonly serves: number | null;
  /** Number of shards that the ring assigns to the node. */
  readonly due: number;
  /** Whether the node sees the same nodes as the answering process. */
  readonly agrees: boolean | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** Facts from the head of a journal. */
export type JournalReport = {
  /** Slots above the low-water mark, which a successor would have to read. */
  readonly slots: number;
  readonly next: number;
  readonly is_sealed: boolean;
};

/** Load of a node, as the node reports it. */
export type LoadReport = {
  readonly actors: number;
  readonly actor_bytes: number;
  /** Number of records that no checkpoint has stored. */
  readonly unstored_records: number;
  /** Age of the oldest such record in seconds. Null if there is no such record. */
  readonly oldest_unstored_s: number | null;
  /** Call rate between the last two reports. Null in the first report. */
  readonly calls_per_s: number | null;
};

/** State of a shard that is not served, with the names of `ctl shards`. */
type UnservedState = 'unowned' | 'not heard' | 'moving';

/** Shard whose calls wait or fail. */
type UnservedShard = {
  readonly shard: number;
  readonly state: UnservedState;
  /** Index into `nodes`. */
  readonly owner: number | null;
  readonly since_s: number;
};

/**
 * Shard in transition. `waits`: the owner differs from the node that the ring names. `opens`: the
 * new owner does not serve the shard yet.
 */
type Move = {
  readonly shard: number;
  readonly kind: 'waits' | 'opens';
  /** Indexes into `nodes`. */
  readonly from: number | null;
  readonly to: number | null;
  readonly since_s: number;
};

/**
 * Maximum number of shards listed in a report. More than a screen shows. Bounds the report even if
 * a cluster has lost all shards.
 */
const SHARDS_NAMED_MAX = 64;

/** Facts about a node from other sources than its own heartbeat. */
export type NodeFacts = {
  readonly seen: SeenNode;
  readonly silentS: number | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** Inputs of the report on one service. */
type ServiceFacts = {
  readonly snapshot: ClusterSnapshot;
  readonly nodes: readonly NodeFacts[];
  readonly tableAgeS: number;
  readonly tableFault: string | null;
  readonly durations: Durations;
  /** Owner of a shard before the present owner, if the change was observed. */
  readonly formerOwner: (shard: number) => string | undefined;
};

/** Builds the report on one service, and ends the round of `durations`. */
export function serviceReport(facts: ServiceFacts): ServiceReport {
  const { snapshot, durations } = facts;
  const shards = shardsOf(snapshot);
  const places = placesOf(facts.nodes);
  const unserved = shards.filter((shard): shard is Unserved => shard.state !== 'served');
  const moving = shards.filter(isMoving);
  const count = (state: UnservedState) => unserved.filter((one) => one.state === state).length;
  const { strangers, cluster, shardCount } = snapshot;
  const named = <Item>(items: readonly Item[]) => items.slice(0, SHARDS_NAMED_MAX);
  const report = {
    cluster,
    shard_count: shardCount,
    table_age_s: facts.tableAgeS,
    table_fault: facts.tableFault,
    nodes: nodeReports(facts),
    owners: shards.map(({ incarnation }) => places.of(incarnation)),
    unserved: {
      unowned: count('unowned'),
      'not heard': count('not heard'),
      moving: count('moving'),
    },
    unserved_shards: named(unserved.map((shard) => unservedShard(shard, places, durations))),
    move_count: moving.length,
    moves: named(moving.map((shard) => moveOf(shard, places, facts))),
    strangers,
  };
  durations.next();
  return report;
}

type Unserved = SeenShard & { readonly state: UnservedState };

/** Lookup of nodes by incarnation or name. Returns null for nodes that are not in the report. */
type Places = ReturnType<typeof placesOf>;

function placesOf(nodes: readonly NodeFacts[]) {
  const byIncarnation = new Map(nodes.map(({ seen }, place) => [seen.incarnation, place]));
  // If a node has several incarnations, use the incarnation that is not leaving.
  const byName = new Map(
    nodes.flatMap(({ seen }, place) =>
      seen.node === undefined || seen.state === 'leaving' ? [] : [[seen.node, place] as const],
    ),
  );
  return {
    of: (incarnation: string | undefined) => byIncarnation.get(incarnation ?? '') ?? null,
    named: (node: string | undefined) => byName.get(node ?? '') ?? null,
  };
}

function nodeReports({ snapshot, nodes }: ServiceFacts): NodeReport[] {
  const due = new Map(ringOf(snapshot).map((row) => [row.node, row.due]));
  return nodes.map(({ seen, silentS, journal, load }) => ({
    node: seen.node ?? null,
    incarnation: seen.incarnation,
    address: seen.address ?? null,
    state: seen.state,
    release: seen.release ?? null,
    since: seen.since ?? null,
    silent_s: silentS,
    owns: seen.owns,
    serves: seen.serves ?? null,
    // A leaving node is not on the ring, but another incarnation with the same name may be.
    due: seen.state === 'serving' ? (due.get(seen.node) ?? 0) : 0,
    agrees: seen.agrees ?? null,
    journal,
    load,
  }));
}

function unservedShard(
  { shard, state, incarnation }: Unserved,
  places: Places,
  durations: Durations,
): UnservedShard {
  const since_s = durations.secondsOf(`${shard} ${state} ${incarnation}`);
  return { shard, state, owner: places.of(incarnation), since_s };
}

/** Whether a shard waits for its move, or has a new owner that does not serve the shard yet. */
function isMoving({ state, node, due_at }: SeenShard): boolean {
  if (state === 'moving') return true;
  return state === 'served' && due_at !== undefined && due_at !== node;
}

function moveOf(
  { shard, state, incarnation, due_at }: SeenShard,
  places: Places,
  { durations, formerOwner }: ServiceFacts,
): Move {
  const since_s = durations.secondsOf(`${shard} ${state} from ${incarnation} to ${due_at}`);
  if (state !== 'moving') {
    const [from, to] = [places.of(incarnation), places.named(due_at)];
    return { shard, kind: 'waits', from, to, since_s };
  }
  const [from, to] = [places.of(formerOwner(shard)), places.of(incarnation)];
  return { shard, kind: 'opens', from, to, since_s };
}
