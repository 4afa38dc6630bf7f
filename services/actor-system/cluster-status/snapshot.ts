import type { Bus } from '#bus/bus';
import { type Member, Membership } from '#cluster/membership';
import type { Clock } from '#stdlib/clock';
import type { ShardedService, ShardRow, ShardStore } from '#storage/ports/cluster';
import type { JournalHead } from '#storage/ports/journal';

/** Shard table of one service, and the heartbeats of its nodes. */
export type ClusterSnapshot = ShardTable & {
  /** Nodes heard now, including leaving nodes, sorted by name. */
  readonly members: readonly Member[];
  /** Hash of the present nodes, computed in the same way as on the nodes. Equal for equal views. */
  readonly viewHash: string;
  /** Node that should own each shard. Empty if no node was heard. */
  readonly ring: readonly string[];
  /** Other clusters that use the same subjects. */
  readonly strangers: readonly string[];
};

/** Bus and clock for listening to heartbeats. */
export type Hearing = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Prefix of all subjects on the bus. */
  readonly prefix: string;
};

/** Membership of a service as heard by a process outside the service. */
export type Heard = Disposable & {
  readonly members: Membership;
  readonly strangers: ReadonlySet<string>;
};

/** Listens to the heartbeats of the table's service until disposed. */
export function hear({ bus, clock, prefix }: Hearing, { cluster, service }: ShardTable): Heard {
  const strangers = new Set<string>();
  const members = new Membership({
    ...{ bus, clock, prefix, cluster, service },
    self: undefined,
    keepsShards: true,
    onForeignCluster: (stranger) => void strangers.add(stranger.cluster),
  });
  return { members, strangers, [Symbol.dispose]: () => members[Symbol.dispose]() };
}

/**
 * Combines a shard table with the heartbeats heard. `ring` returns the node due for each shard,
 * given the present nodes.
 */
export function snapshotOf(
  table: ShardTable,
  { members, strangers }: Heard,
  ring: (nodes: readonly string[]) => readonly string[],
): ClusterSnapshot {
  return {
    ...table,
    members: members.heard().toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    viewHash: members.viewHash,
    ring: ring(members.present().map(({ node }) => node)),
    strangers: [...strangers],
  };
}

/** Node that is heard, or shard owner that is not heard. */
export type SeenNode = {
  readonly service: ShardedService;
  readonly node: string | undefined;
  readonly incarnation: string;
  readonly address: string | undefined;
  readonly state: 'serving' | 'leaving' | 'wrong clock' | 'sealed' | 'not heard';
  /** Number of shards in the node's heartbeat. */
  readonly serves: number | undefined;
  /** Number of shards that the node owns in the shard table. */
  readonly owns: number;
  readonly view: string | undefined;
  /** Whether the node sees the same nodes as this process. */
  readonly agrees: boolean | undefined;
  readonly since: string | undefined;
  /** Release of the node. */
  readonly release: string | undefined;
};

/**
 * Nodes that are heard, followed by shard owners that are not heard. `headOf` reads the head of a
 * journal.
 */
export async function nodesOf(
  snapshot: ClusterSnapshot,
  headOf: (incarnation: string) => Promise<JournalHead | undefined>,
): Promise<SeenNode[]> {
  const unheard = [...unheardOwners(snapshot)].map(async (incarnation) => {
    const head = await headOf(incarnation);
    return unheardNode(snapshot, incarnation, head);
  });
  return [...heardNodes(snapshot), ...(await Promise.all(unheard))];
}

function heardNodes(snapshot: ClusterSnapshot): SeenNode[] {
  return snapshot.members.map((member) => ({
    service: snapshot.service,
    node: member.node,
    incarnation: member.incarnation,
    address: member.address,
    state: nodeStateOf(member),
    serves: member.shards.length,
    owns: ownedBy(snapshot, member.incarnation),
    view: member.viewHash,
    agrees: member.viewHash === snapshot.viewHash,
    since: new Date(member.startedAtMs).toISOString(),
    release: member.release,
  }));
}

function unheardNode(
  snapshot: ClusterSnapshot,
  incarnation: string,
  head: JournalHead | undefined,
): SeenNode {
  return {
    service: snapshot.service,
    node: undefined,
    incarnation,
    address: head?.address,
    state: head?.isSealed ? 'sealed' : 'not heard',
    serves: undefined,
    owns: ownedBy(snapshot, incarnation),
    view: undefined,
    agrees: undefined,
    since: undefined,
    release: undefined,
  };
}

function nodeStateOf({ isLeaving, isAside }: Member): SeenNode['state'] {
  if (isLeaving) return 'leaving';
  return isAside === true ? 'wrong clock' : 'serving';
}

function unheardOwners({ members, rows }: ClusterSnapshot): ReadonlySet<string> {
  const heard = new Set(members.map(({ incarnation }) => incarnation));
  return new Set(rows.map(({ owner }) => owner)).difference(heard);
}

function ownedBy({ rows }: ClusterSnapshot, incarnation: string): number {
  return rows.filter(({ owner }) => owner === incarnation).length;
}

/** Rows for the nodes on the ring, for owners that are not on the ring, and for unowned shards. */
export function ringOf({ service, members, ring, rows, shardCount }: ClusterSnapshot) {
  const nodeOf = new Map(members.map(({ incarnation, node }) => [incarnation, node]));
  const owners = new Map(rows.map(({ shard, owner }) => [shard, nodeOf.get(owner) ?? owner]));
  const shards = Array.from({ length: shardCount }, (_, shard) => shard);
  const names: (string | undefined)[] = [...new Set([...ring, ...owners.values()])].sort();
  if (owners.size < shardCount) names.push(undefined);
  return names.map((node) => {
    const owns = shards.filter((shard) => owners.get(shard) === node);
    const due = shards.filter((shard) => ring[shard] === node);
    const isDue = (shard: number) => ring[shard] === node;
    const to_go = ring.length === 0 ? 0 : owns.filter((shard) => !isDue(shard)).length;
    const to_come = due.filter((shard) => owners.get(shard) !== node).length;
    return { service, node, due: ring.length === 0 ? 0 : due.length, owns, to_come, to_go };
  });
}

/**
 * One row per shard: the owner in the shard table, and the node that the ring assigns (`due_at`).
 */
export function shardsOf({ service, rows, members, ring, shardCount }: ClusterSnapshot) {
  const rowOf = new Map(rows.map((row) => [row.shard, row]));
  const memberOf = new Map(members.map((member) => [member.incarnation, member]));
  const served = new Set(
    members.flatMap(({ incarnation, shards }) =>
      shards.map(([shard, epoch]) => `${shard} ${epoch} ${incarnation}`),
    ),
  );
  return Array.from({ length: shardCount }, (_, shard) => {
    const row = rowOf.get(shard);
    const member = memberOf.get(row?.owner ?? '');
    const isServed = served.has(`${shard} ${row?.epoch} ${row?.owner}`);
    return {
      service,
      shard,
      state: shardStateOf(row !== undefined, member !== undefined, isServed),
      node: member?.node,
      address: member?.address,
      incarnation: row?.owner,
      epoch: row?.epoch,
      due_at: ring[shard],
    };
  });
}

/** Row of `shardsOf`. */
export type SeenShard = ReturnType<typeof shardsOf>[number];

/**
 * State of a shard. `moving`: the owner is heard, but its heartbeat does not list the shard at the
 * table's epoch.
 */
function shardStateOf(isOwned: boolean, isHeard: boolean, isServed: boolean) {
  if (!isOwned) return 'unowned';
  if (!isHeard) return 'not heard';
  return isServed ? 'served' : 'moving';
}

/** Services whose actors are sharded. */
export const SERVICES: readonly ShardedService[] = ['engine', 'limiter'];

/** Maximum number of shards per service (`SERVICE_SHARDS`). */
const SHARDS_MAX = 4_096;

/** Shard table of one service, the only authority on ownership (architecture 3). */
export type ShardTable = {
  readonly service: ShardedService;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly shardCount: number;
  /** Rows sorted by shard. */
  readonly rows: readonly ShardRow[];
};

/**
 * Reads the shard table of a service. Returns undefined if no node ever owned a shard of the
 * service. Rejects as the store does.
 */
export async function readShardTable(
  shards: ShardStore,
  service: ShardedService,
): Promise<ShardTable | undefined> {
  const rows = await shards.load(service, SHARDS_MAX);
  if (rows.length === 0) return undefined;
  // Both values are fixed before the first row is written, so these calls only read.
  const cluster = await shards.fixCluster('');
  const shardCount = await shards.fixCount(service, SHARDS_MAX);
  return { service, cluster, shardCount, rows: inOrder(rows) };
}

/**
 * Reads the rows of a table again. Cluster id and shard count never change and are not read again.
 */
export async function readAgain(shards: ShardStore, before: ShardTable): Promise<ShardTable> {
  const rows = await shards.load(before.service, before.shardCount);
  return { ...before, rows: inOrder(rows) };
}

function inOrder(rows: readonly ShardRow[]): readonly ShardRow[] {
  return rows.toSorted((a, b) => a.shard - b.shard);
}
