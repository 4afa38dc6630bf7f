import { type Member, Members } from '#cluster/members';
import { assignShards } from '#cluster/ring';
import type { ClusterPorts } from '#ctl/cluster-ports';
import { CtlError } from '#ctl/ctl-error';
import { sleep } from '#platform/clock';
import type { ShardRow } from '#storage/shard-store';

/** How long heartbeats are listened to, in milliseconds: every engine sends one a second. */
const LISTEN_MS = 1_200;

/** Shards of the largest cluster (`SERVICE_SHARDS`). */
const SHARDS_MAX = 4_096;

/** Who owns what, as the table says: the only thing that can be trusted for it (architecture 3). */
export type ShardTable = {
  /** Id of the cluster. */
  readonly cluster: string;
  readonly shardCount: number;
  readonly rows: readonly ShardRow[];
};

/** The table, beside what the engines say of themselves. */
export type ClusterPicture = ShardTable & {
  /** Every engine that was heard, leaving ones too. */
  readonly members: readonly Member[];
  /** Names those that are present, as they do it themselves; equal for equal views. */
  readonly viewHash: string;
  /** The node that should own each shard; empty if nobody was heard. */
  readonly ring: readonly string[];
  /** Clusters that speak under the same subjects. */
  readonly strangers: readonly string[];
};

/** The engines' shards by the table. Rejects with a CtlError when there never was a cluster. */
export async function readShardTable({
  shards,
}: Pick<ClusterPorts, 'shards'>): Promise<ShardTable> {
  const rows = await shards.load('engine', SHARDS_MAX);
  if (rows.length === 0) {
    throw new CtlError(
      'no engine has ever owned a shard in this keyspace: start one, and wait 5 s',
    );
  }
  // Both stand before the first row does, so nothing is fixed by asking.
  const cluster = await shards.fixCluster('');
  const shardCount = await shards.fixCount('engine', SHARDS_MAX);
  return { cluster, shardCount, rows: rows.toSorted((a, b) => a.shard - b.shard) };
}

/** Reads the table and listens to the engines for 1.2 s. Rejects as the stores and the bus do. */
export async function lookAtCluster(ports: ClusterPorts): Promise<ClusterPicture> {
  const table = await readShardTable(ports);
  const { clock, prefix } = ports;
  await using bus = await ports.openBus();
  const strangers = new Set<string>();
  using members = new Members({
    bus,
    clock,
    prefix,
    cluster: table.cluster,
    service: 'engine',
    self: undefined,
    onForeignCluster: ({ cluster }) => void strangers.add(cluster),
  });
  await sleep(clock, LISTEN_MS);
  const nodes = members.present().map(({ node }) => node);
  return {
    ...table,
    members: members.known().toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    viewHash: members.viewHash,
    ring: nodes.length === 0 ? [] : assignShards(nodes, table.shardCount),
    strangers: [...strangers],
  };
}

/** What people read below a table about an odd view; empty for a plain one. */
export function remarksOn({ members, strangers }: ClusterPicture): string {
  const remarks: string[] = [];
  if (members.length === 0) {
    remarks.push(
      'No engine was heard: set SERVICE_NATS_URL and SERVICE_NATS_PREFIX as theirs are.',
    );
  }
  for (const stranger of strangers) {
    remarks.push(`Another cluster (${stranger}) speaks under the same subjects and is ignored.`);
  }
  return remarks.map((remark) => `\n\n${remark}`).join('');
}
