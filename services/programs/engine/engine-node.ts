import { ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig } from '#actor-runtime/host-ports';
import type { AuditTrail } from '#audit/trail';
import { shardOf, shardsOf } from '#cluster/shard-owners';
import { indexedOfOwners } from '#engine/directory/indexed-values';
import { summariesOfOwners } from '#engine/directory/owners';
import { EngineActors } from '#engine/engine-actors';
import { showUnrecorded } from '#engine/feed/kind';
import { storedHeadOf } from '#engine/instance/kind';
import type { ChunkBounds } from '#engine/instance/rows';
import { showEndpoints } from '#engine/webhooks/deliverers';
import {
  type AdminTarget,
  type DrainProgress,
  type InstanceReport,
  NO_INCARNATION,
  type NodeLoad,
} from '#grpc/admin';
import type { CourierClient } from '#grpc/courier-messages';
import type { EngineAnswer, EngineCall, EngineClient } from '#grpc/engine-messages';
import { MODELS, type Models, restrictedModels } from '#identity/model';
import { inProcessPeer, type Peer } from '#routing/peer';
import type { RetryReason } from '#routing/retry-policy';
import { RoutedEngine } from '#routing/routed-service';
import { ClusterNode, type ClusterNodePorts } from '#shards/cluster-node';
import type { HostedServices, NodeConfig, NodeContext } from '#shards/node-context';
import type { FeedStore } from '#storage/ports/feeds';
import { gatheredHeads } from '#storage/ports/head-codec';
import { bucketsOfShard, type InstanceStore } from '#storage/ports/instances';
import type { Journal } from '#storage/ports/journal';
import type { ListingStore } from '#storage/ports/listings';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';

/** Settings for the cluster node, and bounds for the engine's actors. */
type EngineNodeConfig = { readonly node: NodeConfig; readonly actors: ActorHostConfig };

type EngineNodePorts = {
  readonly engine: EnginePorts;
  readonly node: ClusterNodePorts;
  /** Opens a connection to another engine. */
  readonly connect: (address: string) => Peer<EngineCall, EngineAnswer>;
  /** Uniform in [0, 1), for the jitter of retries and deliveries. */
  readonly random: () => number;
  readonly onRetry: (reason: RetryReason) => void;
};

/** All models in this program. Instances may start with models up to `newest` only. */
export function modelsUpTo(newest: string): Models {
  const { versions } = MODELS;
  const allowed = versions.slice(0, versions.indexOf(newest) + 1);
  return restrictedModels(MODELS, (version) => allowed.includes(version));
}

/** Feature of an engine that can run instances of a model. */
const modelFeature = (version: string): string => `model ${version}`;

/** Feature of an engine that records transitions. */
const TRANSITIONS_FEATURE = 'transitions';

/** Feature of an engine that reads the events of forked instances. */
const FORKS_FEATURE = 'forks';

/** Feature of an engine that reads tags in events and heads. */
const TAGS_FEATURE = 'tags';

/** Feature of an engine that answers values of instances for indexes. */
const INDEX_FEATURE = 'index';

/** Features of this program besides its models. */
const FEATURES = [TRANSITIONS_FEATURE, FORKS_FEATURE, TAGS_FEATURE, INDEX_FEATURE];

/**
 * An engine in a cluster. Answers calls for the shards that the engine owns. Before joining and
 * while rejoining, refuses every call with `service_unavailable`.
 */
export class EngineNode implements EngineClient, AdminTarget, AsyncDisposable {
  /** Cluster id. */
  readonly cluster: string;
  readonly #config: EngineNodeConfig;
  readonly #ports: EngineNodePorts;
  readonly #node: ClusterNode<EngineActors>;

  constructor(config: EngineNodeConfig, ports: EngineNodePorts) {
    this.cluster = config.node.cluster;
    this.#config = config;
    this.#ports = ports;
    const { models = MODELS } = ports.engine;
    const features = [...models.versions.map(modelFeature), ...FEATURES];
    this.#node = new ClusterNode({ ...config.node, features }, ports.node, (context) =>
      this.#host(context),
    );
    showUnrecorded(ports.engine.metrics, () => this.#node.current?.served.unrecorded);
    showEndpoints(ports.engine.metrics, () => this.#node.current?.served.endpointCounts);
  }

  /**
   * Joins the cluster at `address`. Fulfils when the journal exists. The engine claims shards
   * later, or receives shards from other nodes.
   */
  async join(address: string): Promise<void> {
    await this.#node.join(address);
  }

  /** The node's current incarnation. Undefined before joining and between two incarnations. */
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

  /** Releases all shards and leaves the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }

  /** Builds an incarnation's actors, and their router to the actors of all engines. */
  #host({ address, log, gate, routes, isEverywhere }: NodeContext): HostedServices<EngineActors> {
    const { engine, connect, random, onRetry } = this.#ports;
    const { clock, metrics, listings, feeds, chunkBounds, onBug, tracer, courier, trail } = engine;
    const models = restrictedModels(engine.models ?? MODELS, (version) =>
      isEverywhere(modelFeature(version)),
    );
    const instances = gatheredHeads(engine.instances);
    const { shardCount } = this.#config.node;
    const engines = new RoutedEngine({
      routes,
      shardCount,
      shardOf: shardsOf(shardCount),
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
      bucketsOf: (shard) => bucketsOfShard(shard, shardCount),
      courier,
      trail,
      random,
      instances,
      listings,
      feeds,
      isRecording: () => isEverywhere(TRANSITIONS_FEATURE),
      models,
      chunkBounds,
      mayFork: () => isEverywhere(FORKS_FEATURE),
      mayTag: () => isEverywhere(TAGS_FEATURE),
      mayIndex: () => isEverywhere(INDEX_FEATURE),
      engines,
      indexedOf: indexedOfOwners(engines, clock),
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
      opened: (shard) => actors.opened(shard),
      end: () => void engines[Symbol.asyncDispose]().catch(onBug),
    };
  }
}

/** An engine's dependencies on its process, for all storage back ends. */
type EnginePorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  readonly feeds: FeedStore;
  /** Models that instances may use. Undefined: all models in this program. */
  readonly models?: Models | undefined;
  /** Bounds for moving rows from a head to chunks. Undefined: `CHUNK_BOUNDS`. */
  readonly chunkBounds?: ChunkBounds | undefined;
  /** Sends messages to webhook endpoints. Undefined: nothing is sent. */
  readonly courier?: CourierClient | undefined;
  /** Audit trails of accounts. Undefined: engines write no line. */
  readonly trail?: Pick<AuditTrail, 'around'> | undefined;
};

/**
 * Builds a single engine without a cluster. All data is in memory, so a crash leaves nothing to
 * recover.
 */
export function composeEngine(
  config: ActorHostConfig,
  {
    clock,
    metrics,
    instances,
    listings,
    feeds,
    models,
    onBug,
    tracer,
    courier,
    trail,
    journal,
  }: EnginePorts & { readonly journal: Journal },
): EngineActors {
  const actors = new EngineActors(config, {
    clock,
    metrics,
    log: new CommitLog(journal, clock),
    gate: ONE_SHARD,
    // The only shard never opens: memory is empty at the start.
    bucketsOf: () => [],
    courier,
    trail,
    random: Math.random,
    instances,
    listings,
    feeds,
    isRecording: () => true,
    models,
    engines: undefined,
    summariesOf: undefined,
    onBug,
    tracer,
  });
  showUnrecorded(metrics, () => actors.unrecorded);
  showEndpoints(metrics, () => actors.endpointCounts);
  return actors;
}
