import { shardOf } from '#cluster/shard-of';
import type { EnginePorts } from '#engine/compose';
import { EngineActors } from '#engine/engine-actors';
import { glancesOfOwners } from '#engine/peek';
import { ClusterNode, type ClusterNodePorts } from '#node/cluster-node';
import type { HostedServices, NodeConfig, NodeContext } from '#node/incarnation';
import { inProcessPeer, type Peer } from '#routing/peer';
import { RoutedEngine } from '#routing/routed-engine';
import type { RetryReason } from '#routing/routing-policy';
import type { ActorHostConfig } from '#runtime/host-ports';
import {
  type AdminTarget,
  type DrainProgress,
  type InstanceReport,
  NO_INCARNATION,
} from '#wire/admin';
import type { EngineAnswer, EngineCall, EngineClient } from '#wire/engine-messages';

/** What an engine of a cluster needs of its process. */
export type EngineNodePorts = EnginePorts &
  Omit<ClusterNodePorts, 'metrics'> & {
    readonly nodeMetrics: ClusterNodePorts['metrics'];
    /** Opens a connection to another engine. */
    readonly connect: (address: string) => Peer<EngineCall, EngineAnswer>;
    /** Uniform in [0, 1), for the jitter of pauses. */
    readonly random: () => number;
    readonly onRetry: (reason: RetryReason) => void;
  };

/** An engine that is one of a cluster: it answers for the shards that it owns. */
export class EngineNode implements EngineClient, AdminTarget, AsyncDisposable {
  /** Id of the cluster that it is one of. */
  readonly cluster: string;
  readonly #node: ClusterNode<EngineActors>;
  readonly #shardCount: number;

  private constructor(node: ClusterNode<EngineActors>, { cluster, shardCount }: NodeConfig) {
    this.#node = node;
    this.cluster = cluster;
    this.#shardCount = shardCount;
  }

  /** Joins the cluster; fulfils when its journal has begun. Shards come as others let them. */
  static async join(
    config: ActorHostConfig & NodeConfig,
    ports: EngineNodePorts,
  ): Promise<EngineNode> {
    const nodePorts = { ...ports, metrics: ports.nodeMetrics };
    const hostServices = (context: NodeContext) => hostActors(config, ports, context);
    return new EngineNode(await ClusterNode.join(config, nodePorts, hostServices), config);
  }

  /** The present life of the node; undefined between two. */
  get incarnation() {
    return this.#node.current;
  }

  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    return this.#node.present.served.ask(call);
  }

  async readInstance(instanceId: string): Promise<InstanceReport> {
    const { id, shards, served } = this.#node.present;
    const isServed = shards.has(shardOf(instanceId, this.#shardCount));
    return { incarnation: id, isServed, active: await served.inspect(instanceId) };
  }

  identity(): string {
    return this.#node.current?.id ?? NO_INCARNATION;
  }

  async drain(): Promise<DrainProgress> {
    return this.#node.drain();
  }

  /** Gives all shards up and leaves. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }
}

/** The actors of one incarnation, and the way from them to those of the others. */
function hostActors(
  config: ActorHostConfig & NodeConfig,
  ports: EngineNodePorts,
  { log, gate, routes }: NodeContext,
): HostedServices<EngineActors> {
  const { clock, random, onRetry } = ports;
  const { address, shardCount } = config;
  const engines = new RoutedEngine({
    routes,
    shardCount,
    shardOf: (id) => shardOf(id, shardCount),
    connect: (other) => (other === address ? inProcessPeer(actors, clock) : ports.connect(other)),
    clock,
    random,
    onRetry,
  });
  const storedHeadOf = (id: string) => ports.instances.readHead(id);
  const glancesOf = glancesOfOwners({ owners: engines, storedHeadOf, clock });
  const actors: EngineActors = new EngineActors(config, {
    ...ports,
    log,
    gate,
    engines,
    glancesOf,
  });
  return {
    served: actors,
    hosts: actors.hosts,
    end: () => void engines[Symbol.asyncDispose]().catch(ports.onBug),
  };
}
