import type { ActorHostConfig } from '#actor-runtime/host-ports';
import { Fault } from '#errors/fault';
import type { ClusterNodePorts } from '#shards/cluster-node';
import type { NodeConfig } from '#shards/node-context';
import type { ShardedService } from '#storage/ports/cluster';
import { CLUSTER, type ClusterParts } from '#test/simulation/simulated/cluster-parts';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { pulledPortOf } from '#test/simulation/simulated/pulled-bus';
import { Violation } from '#test/simulation/stored/version-index';
import { noteLogger } from '#test/support/test-logger';

/** Timeout of a connection to another node, in milliseconds. */
const DIAL_MS_MAX = 1_000;

/** Start-up grace period in ms: a new node listens before it claims shards. */
const STARTUP_GRACE_MS = 1_500;

/**
 * Memory bounds: enough memory for all idle actors, but for the early rows of little more than one
 * instance. In production, the bound of early rows is ten thousand times higher.
 */
const MEMORY = { memoryBytesMax: 64 * 1_024 * 1_024, earlyRowsBytesMax: 16 * 1_024 };

/** A simulated process of any service. */
export type NodeProcess = {
  readonly process: SimulatedProcess;
  /** SIGTERM: stops cleanly. Resolves when all shards are handed off. */
  leave(): Promise<void>;
};

/** A node that joins and leaves the cluster. */
type Member = AsyncDisposable & { join(address: string): Promise<void> };

/** Membership of a node. The constructor starts the join; the node leaves only after the join. */
export class Membership {
  readonly #node: Member;
  /** Resolves when the node has joined. */
  readonly joined: Promise<void>;

  constructor(process: SimulatedProcess, node: Member, onFailed: (error: unknown) => void) {
    this.#node = node;
    this.joined = node.join(addressOf(process));
    this.joined.catch(onFailed);
  }

  /** Waits for the join, then leaves. */
  async leave(): Promise<void> {
    await this.joined;
    await this.#node[Symbol.asyncDispose]();
  }
}

/** Configuration, ports and address of a service's node. */
export function nodeParts<Service extends ShardedService>(
  service: Service,
  process: SimulatedProcess,
  cluster: ClusterParts,
) {
  const config = configOf(service, process, cluster);
  const ports = portsOf(service, process, cluster);
  return { address: addressOf(process), actorConfig: actorsOf(cluster), config, ports };
}

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

function actorsOf({ scenario }: ClusterParts): ActorHostConfig {
  const { idleAgeMs, checkpointAgeMs } = scenario;
  return { ...MEMORY, idleAgeMs, checkpointAgeMs };
}

/** Address at which a process listens. */
export function addressOf({ name }: SimulatedProcess): string {
  return `${name}:8100`;
}

function portsOf(
  service: ShardedService,
  process: SimulatedProcess,
  cluster: ClusterParts,
): ClusterNodePorts {
  const { world, network } = cluster;
  const { name, clock, randomness } = process;
  const note = (text: string) => world.note(`${name} ${text}`);
  return {
    clock,
    randomness,
    journals: cluster.journals.portOf(process),
    shards: cluster.shards.portOf(process),
    bus: pulledPortOf(process, cluster, [service]),
    dial: (address) => network.dial(process, address, DIAL_MS_MAX),
    logger: noteLogger(note),
    onBug: (error: unknown) => {
      // A store timeout is also reported here, but is no bug.
      if (error instanceof Fault && error.code === 'service_unavailable') note(error.message);
      else world.fail(new Violation(`bug in ${name}: ${error}`, { cause: error }));
    },
    metrics: {
      appended: () => undefined,
      tailRecovered: (records: number) => note(`recovered ${records}`),
      moved: (reason: string) => note(`moved: ${reason}`),
      sealed: (reason: string, incarnation: string) => {
        note(`sealed: ${reason}`);
        if (reason === 'dead') cluster.sealedAsDead(incarnation, name);
      },
      takenOver: () => undefined,
      fenced: () => note('fenced'),
      notOwner: () => undefined,
    },
  };
}
