import { join } from 'node:path';

/*
 * What a local cluster consists of: its processes, their ports and their variables, as data. Everybody
 * who starts, shows or disturbs one reads it here.
 */

/** What a process of the cluster is. */
export type ProcessKind =
  | 'cassandra'
  | 'nats'
  | 'limiter'
  | 'engine'
  | 'edge'
  | 'console'
  | 'balancer';

/** What may join while the cluster runs: edges learn of it by themselves, the balancer of none. */
export type NodeKind = Extract<ProcessKind, 'engine' | 'limiter'>;

/** In good order a cluster ends like this: who calls others ends before them. */
export const STOP_ORDER: readonly ProcessKind[] = [
  ...(['balancer', 'console', 'edge', 'engine', 'limiter', 'nats', 'cassandra'] as const),
];

/** A port of the balancer, and which processes stand behind it. */
type Entrance = { readonly port: number; readonly kind: Extract<ProcessKind, 'edge' | 'console'> };

/** One process of the cluster. */
export type PlannedProcess = {
  /** `engine2`; unique, and stable between runs. */
  readonly name: string;
  readonly kind: ProcessKind;
  /** Its loopback address; 127.0.0.1 unless given. */
  readonly host?: string;
  /** Where others reach it. */
  readonly port: number;
  /** Where it says whether it is ready, if it has such a port. */
  readonly operatorsPort?: number;
  /** Every other port that it takes. */
  readonly otherPorts?: readonly number[];
  /** Of the balancer: each kind that it stands in front of, and at which port. */
  readonly entrances?: readonly Entrance[];
  /** Its variables; the secret of the cluster comes on top. */
  readonly variables: Readonly<Record<string, string>>;
};

/** How large a cluster is and where it lives. */
export type ClusterSize = {
  /** State, logs and records of all its processes, kept between runs. */
  readonly folder: string;
  /** The first of a block of 100 ports of the loopback address; it is the cluster's own address. */
  readonly ports: number;
  /** At most 20; 3 unless given. */
  readonly engines?: number;
  /** At most 10; 2 unless given. */
  readonly edges?: number;
  /** At most 4; 2 unless given. */
  readonly limiters?: number;
  /** At most 4; 2 unless given, so that people stay signed in when one ends; 0: there is no console. */
  readonly consoles?: number;
  /** Of the engines, and as many of the limiters; 64 unless given; fixed by the first start on a folder. */
  readonly shards?: number;
  /** Cassandra nodes, 1 or 3, each with a copy of everything; 1 unless given; fixed as the shards are. */
  readonly cassandraNodes?: number | undefined;
  /** `host:port` of a Cassandra and URL of a NATS to use instead of own ones. */
  readonly cassandra?: string | undefined;
  readonly nats?: string | undefined;
};

/** A whole cluster. */
export type ClusterPlan = {
  readonly folder: string;
  readonly logFolder: string;
  /** The first of its block of ports. */
  readonly ports: number;
  /** The one balanced address: `http://127.0.0.1:8400`. */
  readonly address: string;
  /** That of the consoles, in front of which the same balancer stands: `http://127.0.0.1:8401`. */
  readonly consoleAddress: string;
  /** The admin port of the first limiter that is there now; any limiter's does the same. */
  readonly adminUrl: string;
  /** Of each sharded service. */
  readonly shards: number;
  /** Variables that every process of the service gets, and tools that look at the cluster. */
  readonly shared: Readonly<Record<string, string>>;
  /** In the order in which they are started. */
  readonly processes: readonly PlannedProcess[];
};

/** How many ports a cluster may take, from its first on. */
export const PORTS_PER_CLUSTER = 100;

const HOST = '127.0.0.1';

/** Offsets into the block of ports. */
const CONSOLE = 1;
const NATS = 2;
const CASSANDRA = 3;
/** Of several nodes, for what they say to each other: each has the same ports on an address of its own. */
const CASSANDRA_STORAGE = 4;
const EDGES = 10;
const CONSOLES = 30;
const ENGINES = 40;
const LIMITERS = 82;

/** Numbers of the last engine and the last limiter: there are no ports for more, and one for tests. */
const LAST_NUMBER = { engine: 20, limiter: 4 } as const satisfies Record<NodeKind, number>;

/** As the limiter's answers may be late while a whole cluster and its stores share two cores. Chosen. */
const LIMITER_TIMEOUT_MS = '1000';

/** The local cluster of this size: 2 edges, 2 limiters, 3 engines, 2 consoles, a balancer, and stores. */
export function clusterPlan(size: ClusterSize): ClusterPlan {
  const { folder, ports, engines = 3, edges = 2, limiters = 2, consoles = 2, shards = 64 } = size;
  const consoleAddress = `http://${HOST}:${ports + CONSOLE}`;
  const nats: PlannedProcess = { name: 'nats', kind: 'nats', port: ports + NATS, variables: {} };
  const cassandras = plannedCassandras(size);
  const shared = {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: size.cassandra ?? cassandras.map(hostAndPort).join(),
    SERVICE_CASSANDRA_REPLICATION_FACTOR: `${cassandras.length}`,
    SERVICE_NATS_URL: size.nats ?? `nats://${HOST}:${ports + NATS}`,
    SERVICE_SHARDS: `${shards}`,
    // For `ctl` too, which makes links that lead there.
    SERVICE_CONSOLE_ORIGIN: consoleAddress,
  };
  const processes: readonly PlannedProcess[] = [
    ...(size.nats === undefined ? [nats] : []),
    ...(size.cassandra === undefined ? cassandras : []),
    ...numbersTo(limiters).map((number) => plannedLimiter(ports, number)),
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

/** One more node for this plan, under the number after the highest. Throws when there are no ports. */
export function nextNode({ ports, processes }: ClusterPlan, kind: NodeKind): PlannedProcess {
  const nodes = processes.filter((planned) => planned.kind === kind);
  const number = Math.max(0, ...nodes.map(({ name }) => Number(name.slice(kind.length)))) + 1;
  if (number > LAST_NUMBER[kind]) throw new Error(`there are no ports for ${kind}${number}`);
  return kind === 'engine' ? plannedEngine(ports, number) : plannedLimiter(ports, number);
}

/** The plan with this process too. */
export function planWith(plan: ClusterPlan, planned: PlannedProcess): ClusterPlan {
  return consistingOf(plan, [...plan.processes, planned]);
}

/** The plan without the process of this name. Throws when no other would do its work. */
export function planWithout(plan: ClusterPlan, name: string): ClusterPlan {
  const leaving = plan.processes.find((planned) => planned.name === name);
  const others = plan.processes.filter((planned) => planned !== leaving);
  if (!others.some(({ kind }) => kind === leaving?.kind)) {
    throw new Error(`${name} cannot leave: there is no other of its kind`);
  }
  return consistingOf(plan, others);
}

/** An operator must not be sent to a limiter that has left, so that address may be another. */
function consistingOf(plan: ClusterPlan, processes: readonly PlannedProcess[]): ClusterPlan {
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

/**
 * One Cassandra, or three under numbered names. Drivers take all nodes to listen on the same port, so each
 * of three has an address of its own.
 */
function plannedCassandras(size: ClusterSize): PlannedProcess[] {
  const { ports, cassandra, cassandraNodes = 1 } = size;
  const place = { kind: 'cassandra', port: ports + CASSANDRA, variables: {} } as const;
  if (cassandraNodes === 1) return [{ name: 'cassandra', ...place }];
  if (cassandra !== undefined)
    throw new Error(`a Cassandra is named, ${cassandra}: none is started`);
  if (cassandraNodes !== 3)
    throw new Error(`a cluster has 1 or 3 Cassandra nodes, not ${cassandraNodes}`);
  const otherPorts = [ports + CASSANDRA_STORAGE];
  return numbersTo(cassandraNodes).map((number) => {
    return { name: `cassandra${number}`, ...place, host: `127.0.0.${number}`, otherPorts };
  });
}

/** Where a process listens: `127.0.0.1:8403`. */
export function hostAndPort({ host = HOST, port }: Pick<PlannedProcess, 'host' | 'port'>): string {
  return `${host}:${port}`;
}

/** Where a process keeps its record, and a server its state. */
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
