import { assignShards } from '#cluster/ring';
import { CALLED_ROLES, callRoll, type PresentProcess } from '#cluster/roll-call';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  type OptionSpec,
  type Values,
} from '#ctl/command';
import { SERVICE_OPTION } from '#ctl/command-line';
import { type Cell, table } from '#ctl/text';
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
} from '#overview/snapshot';
import { sleep } from '#platform/clock';
import type { ShardedService } from '#storage/ports/cluster';

/** How long heartbeats are listened to, in milliseconds: every node sends one a second. */
const LISTEN_MS = 1_200;

/** A service's shards by the table. Rejects with a CtlError when no node ever owned one. */
export async function ownedShards(
  ports: Pick<ClusterPorts, 'shards'>,
  service: ShardedService,
): Promise<ShardTable> {
  const [table] = await ownedTables(ports, [service]);
  return table;
}

/** What is heard of a cluster, beside its tables. */
type HeardCluster = {
  /** One for each service that was asked for and that has owned a shard. */
  readonly snapshots: readonly ClusterSnapshot[];
  /** Those that have answered to the roll call. */
  readonly processes: readonly PresentProcess[];
};

/**
 * Reads the tables of the services that `--service` asks for (all without it) and listens to their
 * nodes for 1.2 s. A service that never owned a shard has no snapshot; with none at all it rejects
 * with a CtlError, else as the stores and the bus do. `callsRoll` asks edges and consoles for an
 * answer too.
 */
export async function readCluster(
  ports: ClusterPorts,
  { service: wanted }: Pick<Values, 'service'>,
  { callsRoll }: { readonly callsRoll: boolean } = { callsRoll: false },
): Promise<HeardCluster> {
  const services = SERVICES.filter((one) => wanted === undefined || one === wanted);
  // Any table names the cluster, where no node was asked for.
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

/** The tables of those services that have owned a shard: of one at least, or it rejects with a CtlError. */
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
 * A command that shows a row for each item of the services' snapshots, as one table under
 * `headings`, with remarks on odd views. With `called` it shows an item for each edge and console
 * too.
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

function dueNodesOf(nodes: readonly string[], shardCount: number): readonly string[] {
  return nodes.length === 0 ? [] : assignShards(nodes, shardCount);
}

function neverOwned(services: readonly ShardedService[]): CtlError {
  const names = services.join(' or ');
  return new CtlError(
    `no ${names} has ever owned a shard in this keyspace: start one, and wait 5 s`,
  );
}

/** A node, or a process that is none: it owns nothing and has no view. */
type Listed = Pick<SeenNode, 'node' | 'state' | 'since' | 'release'> &
  Partial<Pick<SeenNode, 'address' | 'serves' | 'owns' | 'view' | 'agrees'>> & {
    readonly service: string;
    readonly incarnation: string | undefined;
  };

/**
 * `ctl nodes`: every node that is heard, every owner of shards that is not, and every edge and console
 * that answers.
 */
export const NODES = snapshotCommand<Listed>({
  words: ['nodes'],
  summary: 'show the nodes of the cluster, its edges and its consoles',
  description:
    'Shows every node that is heard, what it serves, and whether all see the same nodes; and every edge and console.',
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

/** `ctl ring`: what each node should own and what it does. */
export const RING = snapshotCommand({
  words: ['ring'],
  summary: 'show which node should own which shards',
  description: 'Shows what each node should own by the ring, and what it serves.',
  items: ringOf,
  headings: ['SERVICE', 'NODE', 'DUE', 'OWNS', 'TO COME', 'TO GO', 'SHARDS'],
  row({ service, node, due, owns, to_come, to_go }) {
    return [service, node ?? '(none)', due, owns.length, to_come, to_go, rangesOf(owns)];
  },
});

/** Ascending numbers as `0-3,7`. */
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

/** `ctl shards`: a line for each shard with its owner by the table and its place on the ring. */
export const SHARDS = snapshotCommand({
  words: ['shards'],
  summary: 'show the owner of every shard',
  description: 'Shows the owner of every shard by the table, and whether it serves.',
  items: shardsOf,
  headings: ['SERVICE', 'SHARD', 'STATE', 'OWNER', 'ADDRESS', 'INCARNATION', 'EPOCH', 'DUE AT'],
  row({ service, shard, state, node, address, incarnation, epoch, due_at }) {
    return [service, shard, state, node, address, incarnation, epoch, due_at];
  },
});
