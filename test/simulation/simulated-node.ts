import type { ActorHostConfig } from '#actor-runtime/host-ports';
import type { ProbeAim } from '#cluster/failure-evidence';
import { Fault } from '#errors/fault';
import type { ClusterNodePorts } from '#shards/cluster-node';
import type { NodeConfig } from '#shards/node-context';
import type { ShardedService } from '#storage/ports/cluster';
import { CLUSTER, type ClusterParts } from '#test/simulation/cluster-parts';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import { Violation } from '#test/simulation/version-index';
import { noteLogger } from '#test/support/test-logger';

/** How long a probe may take, in milliseconds. */
const PROBE_MS_MAX = 1_000;

/** How long a node listens who else is there before it claims anything, in milliseconds. */
const STARTUP_GRACE_MS = 1_500;

/**
 * Bytes that idle actors may hold, enough for all of them here, and those of early rows: above what one
 * instance has of them, which the service's own bound is ten thousand times.
 */
const ROOM = { memoryBytesMax: 64 * 1_024 * 1_024, earlyRowsBytesMax: 16 * 1_024 };

/** What the processes of both services have in common. */
export type NodeProcess = {
  readonly process: SimulatedProcess;
  /** SIGTERM: gives everything up, then is done. */
  leave(): Promise<void>;
};

/** A node of either service, as far as its process joins and leaves with it. */
type Member = AsyncDisposable & { join(address: string): Promise<void> };

/** One membership of a process: its node joins at once, and leaves when it has joined. */
export class Membership {
  readonly #node: Member;
  /** Fulfils when the node has joined. */
  readonly joined: Promise<void>;

  constructor(process: SimulatedProcess, node: Member, onFailed: (error: unknown) => void) {
    this.#node = node;
    this.joined = node.join(addressOf(process));
    this.joined.catch(onFailed);
  }

  /** Joins to the end, then leaves. */
  async leave(): Promise<void> {
    await this.joined;
    await this.#node[Symbol.asyncDispose]();
  }
}

/** What a node of a service is made of, and the address at which it listens. */
export function nodeParts<Service extends ShardedService>(
  service: Service,
  process: SimulatedProcess,
  cluster: ClusterParts,
) {
  const config = configOf(service, process, cluster);
  const ports = portsOf(process, cluster);
  return { address: addressOf(process), actorConfig: actorsOf(cluster), config, ports };
}

/** The place of a process in the cluster of its world. */
function configOf(
  service: ShardedService,
  process: SimulatedProcess,
  { scenario }: ClusterParts,
): NodeConfig {
  return {
    ...CLUSTER,
    service,
    name: process.name,
    shardCount: scenario.shardCount,
    startupGraceMs: STARTUP_GRACE_MS,
    isDirect: true,
  };
}

/** The bounds of the actors of a process. */
function actorsOf({ scenario }: ClusterParts): ActorHostConfig {
  const { idleAgeMs, checkpointAgeMs } = scenario;
  return { ...ROOM, idleAgeMs, checkpointAgeMs };
}

/** Where a process listens. */
export function addressOf({ name }: SimulatedProcess): string {
  return `${name}:8100`;
}

/** What a node of either service needs of its world. */
function portsOf(process: SimulatedProcess, cluster: ClusterParts): ClusterNodePorts {
  const { world, network } = cluster;
  const { name, clock, randomness } = process;
  const note = (text: string) => world.note(`${name} ${text}`);
  return {
    clock,
    randomness,
    journals: cluster.journals.portOf(process),
    shards: cluster.shards.portOf(process),
    bus: cluster.bus.portOf(process),
    probe: (address: string, aim: ProbeAim) => network.probe(process, address, aim, PROBE_MS_MAX),
    logger: noteLogger(note),
    onBug: (error: unknown) => {
      // A store that gives no answer is no bug, though it is reported in the same way.
      if (error instanceof Fault && error.code === 'service_unavailable') note(error.message);
      else world.fail(new Violation(`bug in ${name}: ${error}`, { cause: error }));
    },
    metrics: {
      appended: () => undefined,
      tailRecovered: (records: number) => note(`recovered ${records}`),
      moved: (reason: string) => note(`moved: ${reason}`),
      sealed: (reason: string) => note(`sealed: ${reason}`),
      takenOver: () => undefined,
      fenced: () => note('fenced'),
      notOwner: () => undefined,
    },
  };
}
