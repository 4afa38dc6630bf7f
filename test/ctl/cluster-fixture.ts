import type { Bus } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import type { ClusterPorts } from '#ctl/command';
import { EngineNode } from '#engine/engine-node';
import { Fault } from '#errors/fault';
import type { EngineCommand } from '#grpc/engine-messages';
import { LimiterNode } from '#limiter/limiter-node';
import { inProcessPeer } from '#routing/peer';
import { nodeMetrics } from '#shards/journal-writer';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { memoryAccountStore, memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryFeedStore } from '#storage/memory/feeds';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryAuditStore, memoryBillingStore, memoryMeterStore } from '#storage/memory/meters';
import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import type { ShardedService } from '#storage/ports/cluster';
import { createMetrics } from '#telemetry/metrics';
import { callOf } from '#test/engine/instance/instance-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { FakeLifelines } from '#test/support/fake-lifelines';
import { memoryTrail } from '#test/support/memory-trail';
import { SILENT } from '#test/support/test-logger';

/** Number of shards, small so that tables are short. */
export const SHARDS = 8;

const ACTORS = { idleAgeMs: 60_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** Announces nothing, because accounts never change in these tests. */
const NO_NEWS = {
  isHeard: true,
  announce: () => undefined,
  onChange: () => ({ [Symbol.dispose]: () => {} }),
};

type MemoryStores = ReturnType<typeof memoryStores>;

/**
 * Engines and limiters in this process, with stores in memory and an in-process bus, and ports for
 * `ctl`.
 */
export async function clusterInMemory(
  names: readonly string[],
  limiterNames: readonly string[] = [],
): Promise<ClusterInMemory> {
  const cluster = new ClusterInMemory();
  await Promise.all([
    ...names.map((name) => cluster.joinEngine(name)),
    ...limiterNames.map((name) => cluster.joinLimiter(name)),
  ]);
  return cluster;
}

/** A cluster that nodes can join. */
class ClusterInMemory implements AsyncDisposable {
  readonly bugs: unknown[] = [];
  /** Accounts whose change `ctl` has announced. */
  readonly announced: string[] = [];
  readonly stores: MemoryStores = memoryStores();
  readonly bus: Bus;
  readonly #opened = new AsyncDisposableStack();
  readonly #lifelines = new FakeLifelines();
  readonly #engines = new Map<string, EngineNode>();
  readonly #limiters = new Map<string, LimiterNode>();
  #lastCallId = 0;

  constructor() {
    // Keeps the process alive, because the clock's timers do not.
    const alive = setInterval(() => undefined, 60_000);
    this.#opened.defer(() => clearInterval(alive));
    this.bus = this.#opened.use(inProcessBus({ clock: systemClock, onBug: this.#onBug }));
  }

  /** The cluster's ports for `ctl`. */
  get ports(): ClusterPorts {
    return {
      ...this.stores,
      clock: systemClock,
      serverClocks: { read: async () => [systemClock.wallMs()] },
      retentionOfPlans: {},
      release: '0.0.0',
      consoleOrigin: 'https://console.example.com',
      prefix: 'test',
      openBus: async () => ({
        isConnected: true,
        publish: (subject, message) => this.bus.publish(subject, message),
        subscribe: (subject, listener) => this.bus.subscribe(subject, listener),
        [Symbol.asyncDispose]: async () => undefined,
      }),
      openActing: async () => ({
        engine: {
          ask: async (call) => {
            const { command, accountId, instanceId } = call;
            const owner = await this.#ownerOf(command.kind === 'list' ? accountId : instanceId);
            return await owner.ask(call);
          },
        },
        announce: (accountId) => void this.announced.push(accountId),
        [Symbol.asyncDispose]: async () => undefined,
      }),
      adminAt: (address) => ({
        drain: async () =>
          await (this.#engines.get(address) ?? found(this.#limiters, address)).drain(),
        readInstance: async (id) => await found(this.#engines, address).readInstance(id),
      }),
    };
  }

  node(name: string): EngineNode {
    return found(this.#engines, `${name}:8100`);
  }

  limiter(name: string): LimiterNode {
    return found(this.#limiters, `${name}:8200`);
  }

  async joinEngine(name: string): Promise<void> {
    const address = `${name}:8100`;
    const { config, metrics, ports } = await this.#partsOf('engine', name);
    const connect = (other: string) => inProcessPeer(found(this.#engines, other), systemClock);
    const calling = { connect, random: Math.random, onRetry: () => undefined };
    const engine = new EngineNode(
      { node: config, actors: ACTORS },
      { engine: { ...ports, metrics }, node: ports, ...calling },
    );
    this.#engines.set(address, this.#opened.use(engine));
    await engine.join(address);
  }

  async joinLimiter(name: string): Promise<void> {
    const address = `${name}:8200`;
    const { config, metrics, ports } = await this.#partsOf('limiter', name);
    const adminAt = (other: string) => found(this.#limiters, other);
    const limiter = new LimiterNode(
      { node: config, limiter: ACTORS },
      {
        limiter: { ...ports, metrics, audit: memoryTrail(), accountNews: NO_NEWS },
        node: ports,
        adminAt,
      },
    );
    this.#limiters.set(address, this.#opened.use(limiter));
    await limiter.join(address);
  }

  /** Calls the engine that owns the instance. */
  async ask(instanceId: string, command: EngineCommand, fields: { accountId?: string } = {}) {
    this.#lastCallId += 1;
    const call = callOf(command, { ...fields, instanceId, callId: this.#lastCallId });
    return await (await this.#ownerOf(instanceId)).ask(call);
  }

  async #ownerOf(instanceId: string): Promise<EngineNode> {
    for (const node of this.#engines.values()) {
      if ((await node.readInstance(instanceId)).isServed) return node;
    }
    throw new Fault('service_unavailable', `no engine serves ${instanceId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }

  readonly #onBug = (bug: unknown) => void this.bugs.push(bug);

  async #partsOf(service: ShardedService, name: string) {
    const metrics = createMetrics();
    const shardCount = await this.stores.shards.fixCount(service, SHARDS);
    const cluster = await this.stores.shards.fixCluster('c1');
    // In the grace period, all nodes receive each other's heartbeats before the first claim.
    const place = { service, name, shardCount, cluster, startupGraceMs: 200 };
    const ports = {
      ...this.stores,
      bus: this.bus,
      clock: systemClock,
      onBug: this.#onBug,
      randomness: systemRandomness,
      metrics: nodeMetrics(metrics, service),
      dial: async (other: string) => {
        const node = this.#engines.get(other) ?? this.#limiters.get(other);
        const incarnation = node?.incarnation?.id;
        if (incarnation === undefined) return { kind: 'refused' } as const;
        return this.#lifelines.identified(other, incarnation);
      },
      logger: SILENT,
    };
    return { config: { ...place, prefix: 'test', isDirect: true }, metrics, ports };
  }
}

function memoryStores() {
  return {
    accounts: memoryAccountStore(systemClock),
    meters: memoryMeterStore(),
    feeds: memoryFeedStore(),
    audit: memoryAuditStore(),
    keyUses: memoryKeyUseStore(),
    billing: memoryBillingStore(),
    journals: memoryJournalStore(systemClock),
    shards: memoryShardStore(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
    people: {
      users: memoryUserStore(),
      members: memoryMemberStore(),
      sessions: memorySessionStore(systemClock),
    },
  };
}

function found<Node>(nodes: ReadonlyMap<string, Node>, address: string): Node {
  const node = nodes.get(address);
  if (node !== undefined) return node;
  throw new Fault('service_unavailable', `no node of a cluster answers at ${address}`);
}
