import { CALLED_ROLES, callRoll, type PresentProcess } from '#cluster/roll-call';
import { assignShards } from '#cluster/shard-owners';
import {
  type ClusterSnapshot,
  hear,
  nodesOf,
  readShardTable,
  ringOf,
  SERVICES,
  type SeenNode,
  type ShardTable,
  shardsOf,
  snapshotOf,
} from '#cluster-status/snapshot';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  type OptionSpec,
  type Values,
} from '#ctl/command';
import { SERVICE_OPTION } from '#ctl/command-line';
import { type Cell, table } from '#ctl/printed-text';
import { sleep } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';

/** Time to listen for heartbeats, in milliseconds. Every node sends a heartbeat each second. */
const LISTEN_MS = 1_200;

/**
 * Reads the shard table of a service. Rejects with a `CtlError` if no node has ever owned a shard.
 */
export async function ownedShards(
  ports: Pick<ClusterPorts, 'shards'>,
  service: ShardedService,
): Promise<ShardTable> {
  const [table] = await ownedTables(ports, [service]);
  return table;
}

/** Observed state of a cluster: shard tables, heartbeats and answers to the roll call. */
type HeardCluster = {
  /** One snapshot for each requested service that has owned a shard. */
  readonly snapshots: readonly ClusterSnapshot[];
  /** Processes that answered the roll call. */
  readonly processes: readonly PresentProcess[];
};

/**
 * Reads the shard tables of the services selected by `--service` (default: all) and listens to
 * their nodes for 1.2 s. A service that has never owned a shard has no snapshot. If `callsRoll` is
 * set, also calls the roll of edges and consoles.
 *
 * Rejects with a `CtlError` if no service has ever owned a shard, and with the errors of the stores
 * and the bus.
 */
export async function readCluster(
  ports: ClusterPorts,
  { service: wanted }: Pick<Values, 'service'>,
  { callsRoll }: { readonly callsRoll: boolean } = { callsRoll: false },
): Promise<HeardCluster> {
  const services = SERVICES.filter((one) => wanted === undefined || one === wanted);
  // Every table contains the cluster id, so all tables are read if `--service` selects no nodes.
  const [first, ...others] = await ownedTables(ports, services.length > 0 ? services : SERVICES);
  await using bus = await ports.openBus();
  using listening = new DisposableStack();
  const { clock, prefix } = ports;
  const tables = [first, ...others].filter(({ service }) => services.includes(service));
  const heard = tables.map((table) => {
    return { table, heard: listening.use(hear({ bus, clock, prefix }, table)) };
  });
  const roll = callsRoll
    ? listening.use(callRoll({ bus, prefix, cluster: first.cluster }))
    : undefined;
  await sleep(clock, LISTEN_MS);
  const processes = roll?.present() ?? [];
  return {
    snapshots: heard.map(({ table, heard: nodes }) =>
      snapshotOf(table, nodes, (names) => dueNodesOf(names, table.shardCount)),
    ),
    processes: processes.filter(({ role }) => wanted === undefined || role === wanted),
  };
}

/**
 * Reads the shard tables of the services that have owned a shard. Rejects with a `CtlError` if no
 * service has owned a shard.
 */
async function ownedTables(
  { shards }: Pick<ClusterPorts, 'shards'>,
  services: readonly ShardedService[],
): Promise<readonly [ShardTable, ...ShardTable[]]> {
  const read = await Promise.all(services.map((service) => readShardTable(shards, service)));
  const [first, ...others] = read.filter((table) => table !== undefined);
  if (first === undefined) throw neverOwned(services);
  return [first, ...others];
}

/**
 * Builds a command that shows one table row for each item of the services' snapshots, followed by
 * remarks on unusual views. If `called` is set, each edge and console that answers the roll call
 * gets a row too.
 */
function snapshotCommand<Item>(command: {
  readonly words: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly items: (snapshot: ClusterSnapshot, ports: ClusterPorts) => Item[] | Promise<Item[]>;
  readonly called?: (process: PresentProcess) => Item;
  readonly options?: Readonly<Record<'service', OptionSpec>>;
  readonly headings: readonly string[];
  readonly row: (item: Item) => readonly Cell[];
}): ClusterCommand {
  const { words, summary, description, items, called, headings, row } = command;
  return {
    kind: 'cluster',
    words,
    summary,
    description,
    args: [],
    options: command.options ?? SERVICE_OPTION,
    async run(ports, _args, values) {
      const callsRoll = called !== undefined;
      const { snapshots, processes } = await readCluster(ports, values, { callsRoll });
      const ofNodes = await Promise.all(snapshots.map((one) => items(one, ports)));
      const ofOthers = called === undefined ? [] : processes.map(called);
      const data = [...ofNodes.flat(), ...ofOthers];
      return { data, text: `${table(headings, data.map(row))}${remarksOn(snapshots, ports)}` };
    },
  };
}

/** Remark for a data file: only the serving process has the served state. */
const SERVED_TEXT =
  'The table shows the stored state. The admin port of the process shows the served state at /cluster.';

/** Remarks about unusual views, below a table. Empty for normal views. */
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
      `No ${names} sent a heartbeat: set SERVICE_NATS_URL, SERVICE_NATS_PREFIX and SERVICE_CLUSTER_SECRET as in the cluster.`,
    );
  }
  for (const stranger of new Set(snapshots.flatMap(({ strangers }) => strangers))) {
    remarks.push(`Ignored another cluster (${stranger}) on the same NATS subjects.`);
  }
  return remarks.map((remark) => `\n\n${remark}`).join('');
}

function dueNodesOf(nodes: readonly string[], shardCount: number): readonly string[] {
  return nodes.length === 0 ? [] : assignShards(nodes, shardCount);
}

function neverOwned(services: readonly ShardedService[]): CtlError {
  const names = services.join(' or ');
  return new CtlError(
    `no ${names} has ever owned a shard in this keyspace: start the cluster, and wait 5 s`,
  );
}

/** A cluster node, or an edge or console, which owns no shards and has no cluster view. */
type Listed = Pick<SeenNode, 'node' | 'state' | 'since' | 'release'> &
  Partial<Pick<SeenNode, 'address' | 'serves' | 'owns' | 'view' | 'agrees'>> & {
    readonly service: string;
    readonly incarnation: string | undefined;
  };

/**
 * `ctl nodes`: shows every node with a heartbeat, every shard owner without a heartbeat, and every
 * edge and console that answers.
 */
export const NODES = snapshotCommand<Listed>({
  words: ['nodes'],
  summary: 'show the nodes of the cluster, its edges and its consoles',
  description:
    'Shows every live node with its shards, every edge and every console. Also shows whether all nodes list the same members.',
  options: {
    service: {
      value: 'kind',
      about: 'only processes of this kind',
      choices: [...SERVICES, ...CALLED_ROLES],
    },
  },
  items: async (snapshot, { journals }) =>
    await nodesOf(snapshot, (incarnation) => journals.readHead(incarnation, 'quorum')),
  called: listedOf,
  headings: [
    ...['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'STATE', 'SERVES', 'OWNS'],
    ...['VIEW', 'AGREES', 'SINCE', 'RELEASE'],
  ],
  row({ service, node, incarnation, address, state, serves, owns, ...said }) {
    const sees = [said.view, agreementText(said.agrees), said.since, said.release];
    return [service, node, incarnation, address, state, serves, owns, ...sees];
  },
});

function listedOf({ role, node, incarnation, startedAtMs, release }: PresentProcess): Listed {
  const since = new Date(startedAtMs).toISOString();
  return { service: role, node, incarnation, state: 'serving', since, release };
}

function agreementText(agrees: boolean | undefined): string | undefined {
  if (agrees === undefined) return undefined;
  return agrees ? 'yes' : 'NO';
}

/** `ctl ring`: shows the shards that each node should own and the shards that it owns. */
export const RING = snapshotCommand({
  words: ['ring'],
  summary: 'show which node should own which shards',
  description:
    'Shows for each node the shards that the ring proposes and the shards that the node serves.',
  items: ringOf,
  headings: ['SERVICE', 'NODE', 'DUE', 'OWNS', 'TO COME', 'TO GO', 'SHARDS'],
  row({ service, node, due, owns, to_come, to_go }) {
    return [service, node ?? '(none)', due, owns.length, to_come, to_go, rangesOf(owns)];
  },
});

/** Formats ascending numbers as ranges, for example `0-3,7`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: string[] = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (numbers[to + 1] === (numbers[to] ?? 0) + 1) to += 1;
    ranges.push(to === from ? `${numbers[from]}` : `${numbers[from]}-${numbers[to]}`);
    from = to + 1;
  }
  return ranges.join(',') || '-';
}

/** `ctl shards`: shows one row per shard with its owner in the table and its owner by the ring. */
export const SHARDS = snapshotCommand({
  words: ['shards'],
  summary: 'show the owner of every shard',
  description: 'Shows the stored owner of every shard, and whether the owner serves the shard.',
  items: shardsOf,
  headings: ['SERVICE', 'SHARD', 'STATE', 'OWNER', 'ADDRESS', 'INCARNATION', 'EPOCH', 'DUE AT'],
  row({ service, shard, state, node, address, incarnation, epoch, due_at }) {
    return [service, shard, state, node, address, incarnation, epoch, due_at];
  },
});
