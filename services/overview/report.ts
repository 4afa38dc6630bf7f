import type { Durations } from '#overview/durations';
import type { Known } from '#overview/known';
import {
  type ClusterSnapshot,
  ringOf,
  type SeenNode,
  type SeenShard,
  shardsOf,
} from '#overview/snapshot';

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
type UnservedState = 'unowned' | 'not heard' | 'moving';

/** A shard whose calls wait or fail. */
type UnservedShard = {
  readonly shard: number;
  readonly state: UnservedState;
  /** A place in `nodes`. */
  readonly owner: number | null;
  readonly since_s: number;
};

/** A shard that is owned by one node and due at another, or that its new owner does not serve yet. */
type Move = {
  readonly shard: number;
  readonly kind: 'waits' | 'opens';
  /** Places in `nodes`. */
  readonly from: number | null;
  readonly to: number | null;
  readonly since_s: number;
};

/** Shards that a report names: more than a screen shows, and a bound for a cluster that has lost all. */
const SHARDS_NAMED_MAX = 64;

/** What is known of a node besides what it says of itself. */
export type NodeFacts = {
  readonly seen: SeenNode;
  readonly silentS: number | null;
  readonly journal: Known<JournalReport>;
  readonly load: Known<LoadReport>;
};

/** What a report is made of. */
type ServiceFacts = {
  readonly snapshot: ClusterSnapshot;
  readonly nodes: readonly NodeFacts[];
  readonly tableAgeS: number;
  readonly tableFault: string | null;
  readonly durations: Durations;
  /** The owner of a shard before its present one, if that was seen. */
  readonly formerOwner: (shard: number) => string | undefined;
};

/** Puts together what is known of one service. */
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

/** Finds nodes by incarnation or name; null for what is none of the report. */
type Places = ReturnType<typeof placesOf>;

function placesOf(nodes: readonly NodeFacts[]) {
  const byIncarnation = new Map(nodes.map(({ seen }, place) => [seen.incarnation, place]));
  // Of several incarnations of one node the one that is present counts.
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
    // One that leaves has its name on no ring, though another of its name may be.
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

/** Whether a shard is where it should not stay, or not yet where it is. */
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
