import { strict as assert } from 'node:assert';
import { ActorHost, type HostLoad, hostLoad, ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig, ShardGate } from '#actor-runtime/host-ports';
import { Outbox, type SentNotice } from '#actor-runtime/outbox';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { shardOf, shardsOf } from '#cluster/shard-owners';
import { DirectoryKind } from '#engine/directory/kind';
import {
  directoryCall,
  NOTIFIED,
  remoteDirectory,
  summariesAnswer,
  summariesOfOwners,
} from '#engine/directory/owners';
import {
  type HeadOf,
  pageAnswer,
  readSummaries,
  type SummariesOf,
} from '#engine/directory/summary';
import { awaitedEvents, EventWaiters } from '#engine/events/pages';
import { FeedKind, recordMetrics, showUnrecorded, type Unrecorded } from '#engine/feed/kind';
import { awaitedFeed } from '#engine/feed/pages';
import { activeInstanceOf, InstanceKind, storedHeadOf } from '#engine/instance/kind';
import { engineMetrics } from '#engine/instance/process-call';
import type { ChunkBounds } from '#engine/instance/rows';
import { type PastCommand, PastReads } from '#engine/past-reads';
import {
  type ActiveInstance,
  type AdminTarget,
  type DrainProgress,
  type InstanceReport,
  NO_INCARNATION,
  type NodeLoad,
} from '#grpc/admin';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type TransitionRow,
  unnamedCall,
} from '#grpc/engine-messages';
import { MODELS, type Models, restrictedModels } from '#identity/model';
import { inProcessPeer, type Peer } from '#routing/peer';
import type { RetryReason } from '#routing/retry-policy';
import { RoutedEngine } from '#routing/routed-service';
import { ClusterNode, type ClusterNodePorts } from '#shards/cluster-node';
import type { HostedServices, NodeConfig, NodeContext } from '#shards/node-context';
import type { Clock } from '#stdlib/clock';
import type { FeedStore } from '#storage/ports/feeds';
import { gatheredHeads } from '#storage/ports/head-codec';
import type { InstanceStore } from '#storage/ports/instances';
import type { Journal } from '#storage/ports/journal';
import type { ListingStore } from '#storage/ports/listings';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';
import { traced } from '#telemetry/tracer';

/** Settings for the cluster node, and bounds for the engine's actors. */
type EngineNodeConfig = { readonly node: NodeConfig; readonly actors: ActorHostConfig };

type EngineNodePorts = {
  readonly engine: EnginePorts;
  readonly node: ClusterNodePorts;
  /** Opens a connection to another engine. */
  readonly connect: (address: string) => Peer<EngineCall, EngineAnswer>;
  /** Uniform random number in [0, 1), for retry jitter. */
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
    const features = [...models.versions.map(modelFeature), TRANSITIONS_FEATURE, FORKS_FEATURE];
    this.#node = new ClusterNode({ ...config.node, features }, ports.node, (context) =>
      this.#host(context),
    );
    showUnrecorded(ports.engine.metrics, () => this.#node.current?.served.unrecorded);
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
    const { clock, metrics, listings, feeds, chunkBounds, onBug, tracer } = engine;
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
      instances,
      listings,
      feeds,
      isRecording: () => isEverywhere(TRANSITIONS_FEATURE),
      models,
      chunkBounds,
      mayFork: () => isEverywhere(FORKS_FEATURE),
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
    journal,
  }: EnginePorts & { readonly journal: Journal },
): EngineActors {
  const actors = new EngineActors(config, {
    clock,
    metrics,
    log: new CommitLog(journal, clock),
    gate: ONE_SHARD,
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
  return actors;
}

type EngineActorsPorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  readonly feeds: FeedStore;
  /** Whether every engine can record transitions. */
  readonly isRecording: () => boolean;
  /** Models that instances may use. Undefined: all models in this program. */
  readonly models?: Models | undefined;
  /** Bounds for moving rows from a head to chunks. Undefined: `CHUNK_BOUNDS`. */
  readonly chunkBounds?: ChunkBounds | undefined;
  /** Whether all engines can read forked instances. Undefined: always. */
  readonly mayFork?: (() => boolean) | undefined;
  /** All engines, including this engine; undefined without a cluster. */
  readonly engines: EngineClient | undefined;
  /** Reads summaries from all engines; undefined if this engine owns all instances. */
  readonly summariesOf: SummariesOf | undefined;
};

type Command<Kind extends EngineCall['command']['kind']> = Extract<
  EngineCall['command'],
  { kind: Kind }
>;

/**
 * Instances, account directories and account feeds on a common journal. Together they answer every
 * engine call.
 */
class EngineActors implements EngineClient, AsyncDisposable {
  readonly #instances;
  readonly #directories;
  readonly #feeds;
  readonly #outbox: Outbox;
  readonly #waiters: EventWaiters;
  readonly #past: PastReads;
  readonly #ports: EngineActorsPorts;
  readonly #models: Models;
  readonly #headOf: HeadOf;
  readonly #summariesOf: SummariesOf;
  #calls = 0;

  constructor(config: ActorHostConfig, ports: EngineActorsPorts) {
    this.#ports = ports;
    this.#waiters = new EventWaiters(ports.clock);
    const { models = MODELS } = ports;
    this.#models = models;
    const { clock, log, gate, onBug, tracer, metrics, engines = this } = ports;
    const hostPorts = (actor: 'instance' | 'directory' | 'feed') => {
      const reported = runtimeMetrics(metrics, 'engine', actor);
      return { clock, log, gate, onBug, tracer, metrics: reported };
    };
    const directories = new DirectoryKind(ports.listings, clock);
    this.#directories = new ActorHost(directories, config, hostPorts('directory'));
    const feeds = new FeedKind({ store: ports.feeds, waiters: this.#waiters });
    const onLeft = (shard: number | undefined) => this.#waiters.left(shard);
    this.#feeds = new ActorHost(feeds, config, { ...hostPorts('feed'), onLeft });
    this.#outbox = new Outbox({
      log,
      clock,
      onBug,
      isOn: ports.isRecording,
      metrics: recordMetrics(metrics),
      send: (accountId, notices) => recordTransitions(engines, clock, accountId, notices),
    });
    const outbox = this.#outbox;
    const instances = new InstanceKind({
      store: ports.instances,
      chunkBounds: ports.chunkBounds,
      models,
      mayFork: ports.mayFork,
      directory: remoteDirectory(ports.listings, engines, clock),
      metrics: engineMetrics(metrics, clock),
      waiters: this.#waiters,
      outbox,
    });
    this.#instances = new ActorHost(instances, config, {
      ...hostPorts('instance'),
      outbox,
      onLeft,
    });
    this.#past = new PastReads({ store: ports.instances, models, clock, metrics });
    const storedHead = storedHeadOf(ports.instances, models, onBug);
    this.#headOf = async (id) =>
      (await this.#instances.read(id, ({ head }) => head)) ?? (await storedHead(id));
    this.#summariesOf = ports.summariesOf ?? ((_, ids) => readSummaries(ids, this.#headOf, models));
  }

  /** Actor hosts, for the node that opens and closes shards. */
  get hosts() {
    return [this.#instances, this.#directories, this.#feeds];
  }

  /** Transitions of these instances that are not in the log of their account yet. */
  get unrecorded(): Unrecorded {
    return this.#outbox;
  }

  /** The actors' memory use, and the call count. */
  get load(): HostLoad & { readonly calls: number } {
    return { ...hostLoad(this.hosts), calls: this.#calls };
  }

  /** Reads an instance in memory, for operators; undefined if the instance is not active. */
  async readActive(instanceId: string): Promise<ActiveInstance | undefined> {
    return await this.#instances.read(instanceId, (state) =>
      activeInstanceOf(instanceId, state, this.#models),
    );
  }

  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    this.#calls += 1;
    const { command } = call;
    switch (command.kind) {
      case 'list':
        return this.#list(call, command);
      case 'reservePlace':
        return this.#reserve(call, command);
      case 'putListingRow':
      case 'removeListingRow':
        return this.#notify(call, command);
      case 'readSummaries':
        return summariesAnswer(command.instanceIds, this.#headOf, this.#models);
      case 'readEvents':
        return this.#readEvents(call, command);
      case 'recordTransitions':
        return this.#record(call, command);
      case 'readFeed':
        return this.#readFeed(call, command);
      case 'readStates':
      case 'readForkStart':
        return this.#readPast(call, command);
      default:
        return this.#instances.ask(call.instanceId, call);
    }
  }

  /** Refuses new calls, then stores all unstored changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#instances[Symbol.asyncDispose]();
    await this.#directories[Symbol.asyncDispose]();
    // Stored instances have sent their transitions, so the feeds are stored last.
    await this.#feeds[Symbol.asyncDispose]();
  }

  #readEvents(call: EngineCall, command: Command<'readEvents'>) {
    const ask = (id: string, asked: EngineCall) => this.#instances.ask(id, asked);
    if (command.waitMs === 0) return ask(call.instanceId, call);
    const { clock, gate } = this.#ports;
    const shardOf = (id: string) => gate.shardOf(id);
    return awaitedEvents(call, command, { clock, waiters: this.#waiters, shardOf, ask });
  }

  async #record(call: EngineCall, { rows }: Command<'recordTransitions'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const record = { kind: 'record', accountId, rows, callId, deadlineAtMs } as const;
    await this.#feeds.ask(accountId, traced(record, traceparent));
    return NOTIFIED;
  }

  async #readFeed(call: EngineCall, question: Command<'readFeed'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const { clock, gate, feeds } = this.#ports;
    const { isQuiet: _, ...answer } = await awaitedFeed(question, {
      accountId,
      store: feeds,
      clock,
      waiters: this.#waiters,
      shard: gate.shardOf(accountId),
      deadlineAtMs,
      look: async (from, count) => {
        const look = { kind: 'look', from, count, callId, deadlineAtMs } as const;
        return await this.#feeds.ask(accountId, traced(look, traceparent));
      },
    });
    return answer;
  }

  #readPast(call: EngineCall, command: PastCommand): Promise<EngineAnswer> {
    return this.#past.answer(call, command, async () => {
      const { past } = await this.#instances.ask(call.instanceId, call);
      assert(past !== undefined, 'an instance answers a call about its past with a view');
      return past;
    });
  }

  async #list(call: EngineCall, page: Command<'list'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const question = { kind: 'page', page, callId, deadlineAtMs } as const;
    const asked = await this.#directories.ask(accountId, traced(question, traceparent));
    const answer = asked.searched === undefined ? asked : await asked.searched();
    const ids = answer.rows.map(({ instanceId }) => instanceId);
    const summaries = await this.#summariesOf(accountId, ids, traceparent);
    const unseen = ids.filter((id) => !summaries.has(id));
    return pageAnswer(answer, page, summaries, await this.#descriptionsOf(accountId, unseen));
  }

  /** Descriptions from the rows that instances store before they are listed. */
  async #descriptionsOf(accountId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const { listings } = this.#ports;
    const rows = await Promise.all(ids.map((id) => listings.find(accountId, id)));
    return new Map(rows.flatMap((row) => (row ? [[row.instanceId, row.description]] : [])));
  }

  async #reserve(call: EngineCall, command: Command<'reservePlace'>): Promise<EngineAnswer> {
    await this.#directories.ask(call.accountId, directoryCall(call, command));
    return NOTIFIED;
  }

  async #notify(
    call: EngineCall,
    command: Command<'putListingRow' | 'removeListingRow'>,
  ): Promise<EngineAnswer> {
    const { gate, log } = this.#ports;
    // The row is stored, so the shard's next owner will load it. Waiting here could deadlock two
    // closing shards that notify each other.
    if (!gate.isClosing(gate.shardOf(call.accountId))) {
      await this.#directories.ask(call.accountId, directoryCall(call, command));
    } else if (!log.isLeased()) await log.whenConfirmed();
    return NOTIFIED;
  }
}

/** Sends transitions to the feed of an account, on any engine. */
async function recordTransitions(
  engines: EngineClient,
  clock: Clock,
  accountId: string,
  notices: readonly SentNotice[],
): Promise<void> {
  const rows = notices.map(
    ({ actorId, version, atMs, body }): TransitionRow => [
      actorId,
      version,
      atMs,
      // Only `applyEvent` makes notices.
      body as TransitionRow[3],
    ],
  );
  const deadlineAtMs = clock.wallMs() + CALL_TIMEOUT_MS_MAX;
  const command = { kind: 'recordTransitions', rows } as const;
  await engines.ask(unnamedCall({ accountId, instanceId: '', deadlineAtMs, command }));
}
