import type {
  JournalReport,
  LoadReport,
  Move,
  NodeReport,
  ServiceReport,
  UnservedShard,
  UnservedState,
} from '#overview/cluster-report';
import type { ClusterSnapshot } from '#overview/cluster-snapshot';
import type { Durations } from '#overview/durations';
import type { Known } from '#overview/known';
import type { SeenNode } from '#overview/snapshot-nodes';
import { ringOf } from '#overview/snapshot-ring';
import { type SeenShard, shardsOf } from '#overview/snapshot-shards';

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
export type ServiceFacts = {
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
