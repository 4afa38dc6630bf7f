import type { ProbeAim } from '#cluster/failure-evidence';
import { Fault } from '#fault/fault';
import type { ShardedService } from '#storage/shard-store';
import { CLUSTER, type ClusterParts } from '#test/simulation/cluster-parts';
import { silentMetrics } from '#test/simulation/silent-metrics';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import { Violation } from '#test/simulation/version-index';

/** How long a probe may take, in milliseconds. */
const PROBE_MS_MAX = 1_000;

/** How long a node listens who else is there before it claims anything, in milliseconds. */
const STARTUP_GRACE_MS = 1_500;

/** Bytes that idle actors may hold: enough for all of them here. */
const MEMORY_BYTES_MAX = 64 * 1_024 * 1_024;

/** What the processes of both services have in common. */
export type NodeProcess = {
  readonly process: SimulatedProcess;
  /** SIGTERM: gives everything up, then is done. */
  leave(): Promise<void>;
};

/** A node that joins: its process opens its address at once and refuses calls until it has joined. */
export class Joining<Node extends AsyncDisposable> {
  readonly #service: ShardedService;
  /** The node, as soon as it has joined. */
  readonly whenJoined: Promise<Node>;
  #node: Node | undefined;

  constructor(service: ShardedService, joining: Promise<Node>, onFailed: (error: unknown) => void) {
    this.#service = service;
    this.whenJoined = joining;
    joining.then((node) => {
      this.#node = node;
    }, onFailed);
  }

  /** The node, once it has joined. */
  get node(): Node | undefined {
    return this.#node;
  }

  /** The node. Throws `service_unavailable` while it joins. */
  get joined(): Node {
    if (this.#node !== undefined) return this.#node;
    const options = { reason: `${this.#service}_unavailable`, retryAfterS: 1 } as const;
    throw new Fault('service_unavailable', 'this node is joining', options);
  }

  /** Joins to the end, then leaves. */
  async leave(): Promise<void> {
    const node = await this.whenJoined;
    await node[Symbol.asyncDispose]();
  }
}

/** The place of a process in the cluster of its world. */
export function configOf<Service extends ShardedService>(
  service: Service,
  process: SimulatedProcess,
  { scenario }: ClusterParts,
) {
  return {
    ...CLUSTER,
    service,
    node: process.name,
    address: addressOf(process),
    shardCount: scenario.shardCount,
    startupGraceMs: STARTUP_GRACE_MS,
    isDirect: true,
    idleAgeMs: scenario.idleAgeMs,
    memoryBytesMax: MEMORY_BYTES_MAX,
  };
}

/** Where a process listens. */
export function addressOf({ name }: SimulatedProcess): string {
  return `${name}:8100`;
}

/** What a node of either service needs of its world. */
export function portsOf(process: SimulatedProcess, cluster: ClusterParts) {
  const { world, network } = cluster;
  const { name, clock, randomness } = process;
  const note = (text: string) => world.note(`${name} ${text}`);
  return {
    clock,
    randomness,
    metrics: silentMetrics,
    journals: cluster.journals.portOf(process),
    shards: cluster.shards.portOf(process),
    bus: cluster.bus.portOf(process),
    probe: (address: string, aim: ProbeAim) => network.probe(process, address, aim, PROBE_MS_MAX),
    onNotice: note,
    onBug: (error: unknown) => {
      // A store that gives no answer is no bug, though it is reported in the same way.
      if (error instanceof Fault && error.code === 'service_unavailable') note(error.message);
      else world.fail(new Violation(`bug in ${name}: ${error}`, { cause: error }));
    },
    nodeMetrics: {
      appended: () => undefined,
      tailRecovered: (records: number) => note(`recovered ${records}`),
      moved: (reason: string) => note(`moved: ${reason}`),
      sealed: (reason: string) => note(`sealed: ${reason}`),
      takenOver: () => undefined,
      fenced: () => note('fenced'),
    },
  };
}
