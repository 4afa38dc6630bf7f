import { join } from 'node:path';

/*
 * What a local cluster consists of: its processes, their ports and their variables, as data. Everybody
 * who starts, shows or disturbs one reads it here.
 */

/** What a process of the cluster is. */
export type ProcessKind = 'cassandra' | 'nats' | 'limiter' | 'engine' | 'edge' | 'balancer';

/** In good order a cluster ends like this: who calls others ends before them. */
export const STOP_ORDER: readonly ProcessKind[] = [
  ...(['balancer', 'edge', 'engine', 'limiter', 'nats', 'cassandra'] as const),
];

/** One process of the cluster. */
export type PlannedProcess = {
  /** `engine2`; unique, and stable between runs. */
  readonly name: string;
  readonly kind: ProcessKind;
  /** Where others reach it. */
  readonly port: number;
  /** Where it says whether it is ready, if it has such a port. */
  readonly operatorsPort?: number;
  /** Every other port that it takes. */
  readonly otherPorts?: readonly number[];
  /** What it is told; the secret of the cluster comes on top. */
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
  /** At most 5; 2 unless given. */
  readonly limiters?: number;
  /** Of the engines, and as many of the limiters; 64 unless given; fixed by the first start on a folder. */
  readonly shards?: number;
  /** `host:port` of a Cassandra and URL of a NATS to use instead of own ones. */
  readonly cassandra?: string | undefined;
  readonly nats?: string | undefined;
};

/** A whole cluster. */
export type ClusterPlan = {
  readonly folder: string;
  readonly logFolder: string;
  /** The one balanced address: `http://127.0.0.1:8400`. */
  readonly address: string;
  /** The admin port of the first limiter; any limiter's does the same. */
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
const NATS = 2;
const CASSANDRA = 3;
const EDGES = 10;
const ENGINES = 40;
const LIMITERS = 82;

/** As the limiter's answers may be late while a whole cluster and its stores share two cores. Ours. */
const LIMITER_TIMEOUT_MS = '1000';

/** The local cluster of this size: 2 edges, 2 limiters, 3 engines, NATS, Cassandra and a balancer. */
export function clusterPlan(size: ClusterSize): ClusterPlan {
  const { folder, ports, engines = 3, edges = 2, limiters = 2, shards = 64 } = size;
  const stores: readonly PlannedProcess[] = [
    { name: 'nats', kind: 'nats', port: ports + NATS, variables: {} },
    { name: 'cassandra', kind: 'cassandra', port: ports + CASSANDRA, variables: {} },
  ];
  const shared = {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: size.cassandra ?? `${HOST}:${ports + CASSANDRA}`,
    SERVICE_NATS_URL: size.nats ?? `nats://${HOST}:${ports + NATS}`,
    SERVICE_SHARDS: `${shards}`,
  };
  return {
    folder,
    logFolder: join(folder, 'logs'),
    address: `http://${HOST}:${ports}`,
    adminUrl: `http://${HOST}:${limiterPorts(ports, 1).admin}`,
    shards,
    shared,
    processes: [
      ...stores.filter(({ name }) => size[name as 'nats' | 'cassandra'] === undefined),
      ...numbersTo(limiters).map((number) => plannedLimiter(ports, number)),
      ...numbersTo(engines).map((number) => plannedEngine(ports, number)),
      ...numbersTo(edges).map((number) => plannedEdge(ports, number)),
      { name: 'balancer', kind: 'balancer', port: ports, variables: {} },
    ],
  };
}

/** The engine of this number, 1 to 20: also one that joins later. */
export function plannedEngine(ports: number, number: number): PlannedProcess {
  const port = ports + ENGINES + 2 * number;
  return served({ name: `engine${number}`, kind: 'engine', port }, port + 1, {
    SERVICE_ENGINE_LISTEN: `${HOST}:${port}`,
    SERVICE_NODE_NAME: `engine${number}`,
  });
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

function plannedLimiter(ports: number, number: number): PlannedProcess {
  const { port, operators, admin } = limiterPorts(ports, number);
  return {
    ...served({ name: `limiter${number}`, kind: 'limiter', port }, operators, {
      SERVICE_LIMITER_LISTEN: `${HOST}:${port}`,
      SERVICE_LIMITER_TIMEOUT_MS: LIMITER_TIMEOUT_MS,
      SERVICE_ADMIN_PORT: `${admin}`,
      SERVICE_NODE_NAME: `limiter${number}`,
    }),
    otherPorts: [admin],
  };
}

function limiterPorts(ports: number, number: number) {
  const port = ports + LIMITERS + 3 * number;
  return { port, operators: port + 1, admin: port + 2 };
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
