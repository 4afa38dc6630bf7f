import { assignShards } from '#cluster/ring';
import { type ClusterCommand, type ClusterPorts, CtlError, type Values } from '#ctl/command';
import { SERVICE_OPTION } from '#ctl/command-values';
import { type Cell, table } from '#ctl/table';
import { type ClusterSnapshot, hear, snapshotOf } from '#overview/cluster-snapshot';
import { readShardTable, SERVICES, type ShardTable } from '#overview/shard-table';
import { sleep } from '#platform/clock';
import type { ShardedService } from '#storage/shard-store';

/** How long heartbeats are listened to, in milliseconds: every node sends one a second. */
const LISTEN_MS = 1_200;

/** A service's shards by the table. Rejects with a CtlError when no node ever owned one. */
export async function ownedShards(
  { shards }: Pick<ClusterPorts, 'shards'>,
  service: ShardedService,
): Promise<ShardTable> {
  const table = await readShardTable(shards, service);
  if (table === undefined) throw neverOwned([service]);
  return table;
}

/**
 * Reads the tables of the services that `--service` asks for (all without it) and listens to their
 * nodes for 1.2 s. A service that never owned a shard has no snapshot; with none at all it rejects
 * with a CtlError, else as the stores and the bus do.
 */
export async function readCluster(
  ports: ClusterPorts,
  { service: wanted }: Pick<Values, 'service'>,
): Promise<readonly ClusterSnapshot[]> {
  const services = SERVICES.filter((one) => wanted === undefined || one === wanted);
  const read = await Promise.all(services.map((service) => readShardTable(ports.shards, service)));
  const tables = read.filter((table) => table !== undefined);
  if (tables.length === 0) throw neverOwned(services);
  await using bus = await ports.openBus();
  using listening = new DisposableStack();
  const { clock, prefix } = ports;
  const heard = tables.map((table) => {
    return { table, heard: listening.use(hear({ bus, clock, prefix }, table)) };
  });
  await sleep(clock, LISTEN_MS);
  return heard.map(({ table, heard: nodes }) =>
    snapshotOf(table, nodes, (names) => ringOf(names, table.shardCount)),
  );
}

/**
 * A command that shows a row for each item of the services' snapshots, as one table under
 * `headings`, with remarks on odd views.
 */
export function snapshotCommand<Item>(command: {
  readonly words: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly items: (snapshot: ClusterSnapshot, ports: ClusterPorts) => Item[] | Promise<Item[]>;
  readonly headings: readonly string[];
  readonly row: (item: Item) => readonly Cell[];
}): ClusterCommand {
  const { words, summary, description, items, headings, row } = command;
  return {
    kind: 'cluster',
    words,
    summary,
    description,
    args: [],
    options: SERVICE_OPTION,
    async run(ports, _args, values) {
      const snapshots = await readCluster(ports, values);
      const data = (await Promise.all(snapshots.map((one) => items(one, ports)))).flat();
      return { data, text: `${table(headings, data.map(row))}${remarksOn(snapshots, ports)}` };
    },
  };
}

/** What nothing but the process that serves a file knows. */
const SERVED_TEXT =
  'This is what stands in the file. What its process serves is shown at /cluster of its admin port.';

/** What people read below a table about an odd view; empty for a plain one. */
function remarksOn(
  snapshots: readonly ClusterSnapshot[],
  { file }: Pick<ClusterPorts, 'file'>,
): string {
  if (file !== undefined) return `\n\n${SERVED_TEXT}`;
  const remarks: string[] = [];
  const unheard = snapshots.filter(({ members }) => members.length === 0);
  if (unheard.length > 0) {
    const names = unheard.map(({ service }) => service).join(' or ');
    remarks.push(
      `No ${names} was heard: set SERVICE_NATS_URL, SERVICE_NATS_PREFIX and SERVICE_CLUSTER_SECRET as theirs are.`,
    );
  }
  for (const stranger of new Set(snapshots.flatMap(({ strangers }) => strangers))) {
    remarks.push(`Another cluster (${stranger}) speaks under the same subjects and is ignored.`);
  }
  return remarks.map((remark) => `\n\n${remark}`).join('');
}

function ringOf(nodes: readonly string[], shardCount: number): readonly string[] {
  return nodes.length === 0 ? [] : assignShards(nodes, shardCount);
}

function neverOwned(services: readonly ShardedService[]): CtlError {
  const names = services.join(' or ');
  return new CtlError(
    `no ${names} has ever owned a shard in this keyspace: start one, and wait 5 s`,
  );
}
