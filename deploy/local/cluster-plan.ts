import { join } from 'node:path';

/*
 * Plan of a local cluster as data: processes with their ports and variables. All code that starts,
 * shows or disturbs the cluster uses this plan.
 */

/** Kind of a process in the cluster. */
export type ProcessKind =
  | 'cassandra'
  | 'nats'
  | 'limiter'
  | 'courier'
  | 'engine'
  | 'edge'
  | 'console'
  | 'balancer';

/**
 * Kinds of processes that may join a running cluster. Edges discover new engines and limiters. New
 * edges and consoles cannot join, because the balancer has fixed targets.
 */
export type NodeKind = Extract<ProcessKind, 'engine' | 'limiter'>;

/** Order of a clean stop: callers stop before the processes that they call. */
export const STOP_ORDER: readonly ProcessKind[] = [
  ...(['balancer', 'console', 'edge', 'engine', 'courier'] as const),
  ...(['limiter', 'nats', 'cassandra'] as const),
];

/** A port of the balancer, and the kind of processes behind it. */
type Entrance = { readonly port: number; readonly kind: Extract<ProcessKind, 'edge' | 'console'> };

/** A process of the cluster. */
export type PlannedProcess = {
  /** Unique name such as `engine2`, stable between runs. */
  readonly name: string;
  readonly kind: ProcessKind;
  /** Loopback address. Default: 127.0.0.1. */
  readonly host?: string;
  /** Port for clients and other processes. */
  readonly port: number;
  /** Port of the readiness probe; undefined if the process has none. */
  readonly operatorsPort?: number;
  /** Further ports of the process. */
  readonly otherPorts?: readonly number[];
  /** Entrances of the balancer. */
  readonly entrances?: readonly Entrance[];
  /** Variables of the process, without the cluster secret. */
  readonly variables: Readonly<Record<string, string>>;
};

/** Size, folder and ports of a cluster. */
export type ClusterSize = {
  /** Folder for state, logs and records of all processes, kept between runs. */
  readonly folder: string;
  /** First of a block of 100 loopback ports; also the port of the balanced API address. */
  readonly ports: number;
  /** Number of engines, at most 20. Default: 3. */
  readonly engines?: number;
  /** Number of edges, at most 10. Default: 2. */
  readonly edges?: number;
  /** Number of limiters, at most 4. Default: 2. */
  readonly limiters?: number;
  /**
   * Number of consoles, at most 4. Default: 2, so that users stay signed in when a console ends.
   * The value 0 starts no console.
   */
  readonly consoles?: number;
  /**
   * Number of engine shards, and of limiter shards. Default: 64. Fixed by the folder's first start.
   */
  readonly shards?: number;
  /**
   * Number of Cassandra nodes, 1 or 3. Each node has all data. Default: 1. Fixed by the first
   * start.
   */
  readonly cassandraNodes?: number | undefined;
  /** `host:port` of an external Cassandra; undefined to start Cassandra here. */
  readonly cassandra?: string | undefined;
  /** URL of an external NATS; undefined to start NATS here. */
  readonly nats?: string | undefined;
};

/** A whole cluster. */
export type ClusterPlan = {
  readonly folder: string;
  readonly logFolder: string;
  /** First port of the cluster's block. */
  readonly ports: number;
  /** Balanced address of the edges, such as `http://127.0.0.1:8400`. */
  readonly address: string;
  /** Balanced address of the consoles, such as `http://127.0.0.1:8401`. */
  readonly consoleAddress: string;
  /** URL of the first limiter's admin port; all limiters are equivalent. */
  readonly adminUrl: string;
  /** Number of shards of each sharded service. */
  readonly shards: number;
  /** Variables for every process of the service, and for tools that access the cluster. */
  readonly shared: Readonly<Record<string, string>>;
  /** Processes in start order. */
  readonly processes: readonly PlannedProcess[];
};

/** Number of ports in the block of a cluster. */
export const PORTS_PER_CLUSTER = 100;

const HOST = '127.0.0.1';

/** Offsets in the block of ports. */
const CONSOLE = 1;
const NATS = 2;
const CASSANDRA = 3;
/** Port between Cassandra nodes. Nodes have different addresses with the same ports. */
const CASSANDRA_STORAGE = 4;
const COURIERS = 4;
const EDGES = 10;
const CONSOLES = 30;
const ENGINES = 40;
const LIMITERS = 82;

/** Highest engine number and limiter number: the block has no further ports. */
const LAST_NUMBER = { engine: 20, limiter: 4 } as const satisfies Record<NodeKind, number>;

/**
 * Limiter timeout in milliseconds. Long, because a whole cluster and its stores may share two
 * cores.
 */
const LIMITER_TIMEOUT_MS = '1000';

/** Number of couriers: a second courier takes over the messages of the first. */
const COURIER_COUNT = 2;

/**
 * Plan of a local cluster. Default: 2 edges, 2 limiters, 3 engines, 2 couriers, 2 consoles, a
 * balancer, and stores.
 */
export function clusterPlan(size: ClusterSize): ClusterPlan {
  const { folder, ports, engines = 3, edges = 2, limiters = 2, consoles = 2, shards = 64 } = size;
  const consoleAddress = `http://${HOST}:${ports + CONSOLE}`;
  const nats: PlannedProcess = { name: 'nats', kind: 'nats', port: ports + NATS, variables: {} };
  const cassandras = plannedCassandras(size);
  const couriers = numbersTo(COURIER_COUNT).map((number) => plannedCourier(ports, number));
  const shared = {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: size.cassandra ?? cassandras.map(hostAndPort).join(),
    SERVICE_CASSANDRA_REPLICATION_FACTOR: `${cassandras.length}`,
    SERVICE_NATS_URL: size.nats ?? `nats://${HOST}:${ports + NATS}`,
    SERVICE_SHARDS: `${shards}`,
    SERVICE_COURIER_ADDRESSES: couriers.map(hostAndPort).join(),
    // `ctl` creates links to the console with this address.
    SERVICE_CONSOLE_ORIGIN: consoleAddress,
  };
  const processes: readonly PlannedProcess[] = [
    ...(size.nats === undefined ? [nats] : []),
    ...(size.cassandra === undefined ? cassandras : []),
    ...numbersTo(limiters).map((number) => plannedLimiter(ports, number)),
    ...couriers,
    ...numbersTo(engines).map((number) => plannedEngine(ports, number)),
    ...numbersTo(edges).map((number) => plannedEdge(ports, number)),
    ...numbersTo(consoles).map((number) => plannedConsole(ports, number)),
    plannedBalancer(ports, consoles > 0),
  ];
  return {
    folder,
    logFolder: join(folder, 'logs'),
    ports,
    address: `http://${HOST}:${ports}`,
    consoleAddress,
    adminUrl: adminUrlOf(processes),
    shards,
    shared,
    processes,
  };
}

/** Plans another node of a kind, with the next number. Throws if no ports are left. */
export function nextNode({ ports, processes }: ClusterPlan, kind: NodeKind): PlannedProcess {
  const nodes = processes.filter((planned) => planned.kind === kind);
  const number = Math.max(0, ...nodes.map(({ name }) => Number(name.slice(kind.length)))) + 1;
  if (number > LAST_NUMBER[kind]) throw new Error(`no ports are left for ${kind}${number}`);
  return kind === 'engine' ? plannedEngine(ports, number) : plannedLimiter(ports, number);
}

/** The plan with an additional process. */
export function planWith(plan: ClusterPlan, planned: PlannedProcess): ClusterPlan {
  return planOf(plan, [...plan.processes, planned]);
}

/** The plan without a process. Throws if the process is the last of its kind. */
export function planWithout(plan: ClusterPlan, name: string): ClusterPlan {
  const leaving = plan.processes.find((planned) => planned.name === name);
  const others = plan.processes.filter((planned) => planned !== leaving);
  if (!others.some(({ kind }) => kind === leaving?.kind)) {
    throw new Error(`${name} cannot leave: it is the last ${leaving?.kind}`);
  }
  return planOf(plan, others);
}

/** The plan with these processes. Updates the admin URL, in case its limiter has left. */
function planOf(plan: ClusterPlan, processes: readonly PlannedProcess[]): ClusterPlan {
  return { ...plan, processes, adminUrl: adminUrlOf(processes) };
}

function adminUrlOf(processes: readonly PlannedProcess[]): string {
  const limiter = processes.find(({ kind }) => kind === 'limiter');
  return `http://${HOST}:${limiter?.variables['SERVICE_ADMIN_PORT']}`;
}

function plannedEngine(ports: number, number: number): PlannedProcess {
  const port = ports + ENGINES + 2 * number;
  return served({ name: `engine${number}`, kind: 'engine', port }, port + 1, {
    SERVICE_ENGINE_LISTEN: `${HOST}:${port}`,
    SERVICE_NODE_NAME: `engine${number}`,
  });
}

function plannedCourier(ports: number, number: number): PlannedProcess {
  const port = ports + COURIERS + 2 * number;
  return served({ name: `courier${number}`, kind: 'courier', port }, port + 1, {
    SERVICE_COURIER_LISTEN: `${HOST}:${port}`,
  });
}

/**
 * One Cassandra node, or three with numbered names. Drivers expect the same port on all nodes, so
 * each of three nodes has its own address.
 */
function plannedCassandras(size: ClusterSize): PlannedProcess[] {
  const { ports, cassandra, cassandraNodes = 1 } = size;
  const place = { kind: 'cassandra', port: ports + CASSANDRA, variables: {} } as const;
  if (cassandraNodes === 1) return [{ name: 'cassandra', ...place }];
  if (cassandra !== undefined)
    throw new Error(
      `CLUSTER_CASSANDRA is ${cassandra}, so no Cassandra starts here: unset CASSANDRA`,
    );
  if (cassandraNodes !== 3)
    throw new Error(`a cluster has 1 or 3 Cassandra nodes, not ${cassandraNodes}`);
  const otherPorts = [ports + CASSANDRA_STORAGE];
  return numbersTo(cassandraNodes).map((number) => {
    return { name: `cassandra${number}`, ...place, host: `127.0.0.${number}`, otherPorts };
  });
}

/** Listening address of a process, such as `127.0.0.1:8403`. */
export function hostAndPort({ host = HOST, port }: Pick<PlannedProcess, 'host' | 'port'>): string {
  return `${host}:${port}`;
}

/** Folder for the record of a process and the state of a server. */
export function processFolder(folder: string, name: string): string {
  return join(folder, 'processes', name);
}

function plannedEdge(ports: number, number: number): PlannedProcess {
  const port = ports + EDGES + 2 * number;
  return served({ name: `edge${number}`, kind: 'edge', port }, port + 1, {
    SERVICE_PORT: `${port}`,
    SERVICE_DOCS_ENABLED: 'true',
    SERVICE_LIMITER_TIMEOUT_MS: LIMITER_TIMEOUT_MS,
  });
}

function plannedConsole(ports: number, number: number): PlannedProcess {
  const port = ports + CONSOLES + 2 * number;
  return served({ name: `console${number}`, kind: 'console', port }, port + 1, {
    SERVICE_CONSOLE_PORT: `${port}`,
    // The balancer's address, which the pages show.
    SERVICE_API_URL: `http://${HOST}:${ports}/v1`,
    SERVICE_DOCS_ENABLED: 'true',
  });
}

function plannedBalancer(ports: number, hasConsoles: boolean): PlannedProcess {
  const balancer = { name: 'balancer', kind: 'balancer', port: ports, variables: {} } as const;
  const api: Entrance = { port: ports, kind: 'edge' };
  if (!hasConsoles) return { ...balancer, entrances: [api] };
  const consoles: Entrance = { port: ports + CONSOLE, kind: 'console' };
  return { ...balancer, otherPorts: [consoles.port], entrances: [api, consoles] };
}

function plannedLimiter(ports: number, number: number): PlannedProcess {
  const port = ports + LIMITERS + 3 * number;
  const admin = port + 2;
  return {
    ...served({ name: `limiter${number}`, kind: 'limiter', port }, port + 1, {
      SERVICE_LIMITER_LISTEN: `${HOST}:${port}`,
      SERVICE_LIMITER_TIMEOUT_MS: LIMITER_TIMEOUT_MS,
      SERVICE_ADMIN_PORT: `${admin}`,
      SERVICE_NODE_NAME: `limiter${number}`,
    }),
    otherPorts: [admin],
  };
}

function served(
  process: Pick<PlannedProcess, 'name' | 'kind' | 'port'>,
  operatorsPort: number,
  variables: Readonly<Record<string, string>>,
): PlannedProcess {
  const own = { SERVICE_METRICS_PORT: `${operatorsPort}`, ...variables };
  return { ...process, operatorsPort, variables: own };
}

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
