import { ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig } from '#actor-runtime/host-ports';
import { shardOf } from '#cluster/ring';
import { EngineActors } from '#engine/actors';
import { summariesOfOwners } from '#engine/directory/owners';
import { storedHeadOf } from '#engine/instance/kind';
import type { ChunkBounds } from '#engine/instance/rows';
import {
  type AdminTarget,
  type DrainProgress,
  type InstanceReport,
  NO_INCARNATION,
  type NodeLoad,
} from '#grpc/admin';
import type { EngineAnswer, EngineCall, EngineClient } from '#grpc/engine-messages';
import { MODELS, type Models } from '#identity/model';
import { inProcessPeer, type Peer } from '#routing/peer';
import type { RetryReason } from '#routing/policy';
import { RoutedEngine } from '#routing/routed-service';
import { ClusterNode, type ClusterNodePorts } from '#shards/cluster-node';
import type { HostedServices, NodeConfig, NodeContext } from '#shards/node-context';
import { gatheredHeads } from '#storage/ports/heads';
import type { InstanceStore } from '#storage/ports/instances';
import type { Journal } from '#storage/ports/journal';
import type { ListingStore } from '#storage/ports/listings';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';

/** Settings of the engine's node in its cluster, and bounds of its actors. */
type EngineNodeConfig = { readonly node: NodeConfig; readonly actors: ActorHostConfig };

type EngineNodePorts = {
  readonly engine: EnginePorts;
  readonly node: ClusterNodePorts;
  /** Opens a connection to another engine. */
  readonly connect: (address: string) => Peer<EngineCall, EngineAnswer>;
  /** Uniform random number in [0, 1), for the jitter of retry pauses. */
  readonly random: () => number;
  readonly onRetry: (reason: RetryReason) => void;
};

/**
 * An engine of a cluster. The engine answers for the shards that it owns. Until it has joined, and
 * while it rejoins, the engine refuses every call with `service_unavailable`.
 */
export class EngineNode implements EngineClient, AdminTarget, AsyncDisposable {
  /** Id of the engine's cluster. */
  readonly cluster: string;
  readonly #config: EngineNodeConfig;
  readonly #ports: EngineNodePorts;
  readonly #node: ClusterNode<EngineActors>;

  constructor(config: EngineNodeConfig, ports: EngineNodePorts) {
    this.cluster = config.node.cluster;
    this.#config = config;
    this.#ports = ports;
    this.#node = new ClusterNode(config.node, ports.node, (context) => this.#host(context));
  }

  /**
   * Joins the cluster at `address`. Fulfils when the journal has begun. Shards follow as the engine
   * claims them or other nodes give them up.
   */
  async join(address: string): Promise<void> {
    await this.#node.join(address);
  }

  /**
   * Current incarnation of the node. Undefined before the node joins and between two incarnations.
   */
  get incarnation() {
    return this.#node.current;
  }

  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    return this.#node.present.served.ask(call);
  }

  async readInstance(instanceId: string): Promise<InstanceReport> {
    const { id, shards, served } = this.#node.present;
    const isServed = shards.has(shardOf(instanceId, this.#config.node.shardCount));
    return { incarnation: id, isServed, active: await served.readActive(instanceId) };
  }

  async readLoad(): Promise<NodeLoad> {
    const { id, served } = this.#node.present;
    return { incarnation: id, ...served.load };
  }

  identity(): string {
    return this.#node.current?.id ?? NO_INCARNATION;
  }

  async drain(): Promise<DrainProgress> {
    return this.#node.drain();
  }

  /** Gives up all shards and leaves the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }

  /** Builds the actors of one incarnation and their router to the actors of all engines. */
  #host({ address, log, gate, routes }: NodeContext): HostedServices<EngineActors> {
    const { engine, connect, random, onRetry } = this.#ports;
    const { clock, metrics, listings, models = MODELS, chunkBounds, onBug, tracer } = engine;
    const instances = gatheredHeads(engine.instances);
    const { shardCount } = this.#config.node;
    const engines = new RoutedEngine({
      routes,
      shardCount,
      shardOf: (id) => shardOf(id, shardCount),
      connect: (other) => (other === address ? inProcessPeer(this, clock) : connect(other)),
      clock,
      random,
      onRetry,
    });
    const actors = new EngineActors(this.#config.actors, {
      clock,
      metrics,
      log,
      gate,
      instances,
      listings,
      models,
      chunkBounds,
      engines,
      summariesOf: summariesOfOwners({
        owners: engines,
        storedHeadOf: storedHeadOf(instances, models, onBug),
        models,
        clock,
      }),
      onBug,
      tracer,
    });
    return {
      served: actors,
      hosts: actors.hosts,
      end: () => void engines[Symbol.asyncDispose]().catch(onBug),
    };
  }
}

/** Dependencies of an engine on its process, for every kind of storage. */
type EnginePorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  /** Undefined: the models of this program. */
  readonly models?: Models | undefined;
  /** Bounds at which rows move from a head to chunks. Undefined: the bounds of the service. */
  readonly chunkBounds?: ChunkBounds | undefined;
};

/**
 * Builds an engine that is the only one. Its data is in memory, and a crash leaves nothing to
 * recover.
 */
export function composeEngine(
  config: ActorHostConfig,
  {
    clock,
    metrics,
    instances,
    listings,
    models,
    onBug,
    tracer,
    journal,
  }: EnginePorts & { readonly journal: Journal },
): EngineActors {
  return new EngineActors(config, {
    clock,
    metrics,
    log: new CommitLog(journal, clock),
    gate: ONE_SHARD,
    instances,
    listings,
    models,
    engines: undefined,
    summariesOf: undefined,
    onBug,
    tracer,
  });
}
