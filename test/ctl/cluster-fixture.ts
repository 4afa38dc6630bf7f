import { inProcessBus } from '#bus/in-process-bus';
import type { ClusterPorts } from '#ctl/cluster-ports';
import { EngineNode } from '#engine/engine-node';
import { Fault } from '#fault/fault';
import { LimiterNode } from '#limiter/limiter-node';
import { nodeMetrics } from '#node/node-metrics';
import { systemClock } from '#platform/clock';
import { createMetrics } from '#platform/metrics';
import { systemRandomness } from '#platform/randomness';
import { inProcessPeer } from '#routing/peer';
import { memoryAccountStore } from '#storage/memory/memory-account-store';
import { memoryInstanceStore } from '#storage/memory/memory-instance-store';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { memoryListingStore } from '#storage/memory/memory-listing-store';
import { memoryMeterStore } from '#storage/memory/memory-meter-store';
import { memoryShardStore } from '#storage/memory/memory-shard-store';
import type { ShardedService } from '#storage/shard-store';
import { callOf } from '#test/engine/instance-fixture';
import type { EngineCommand } from '#wire/engine-messages';

/** Shards of the cluster: few, so that tables are short. */
export const SHARDS = 8;

const ACTORS = { idleAgeMs: 60_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** Accounts never change here. */
const NO_NEWS = { announce: () => undefined, onChange: () => ({ [Symbol.dispose]: () => {} }) };

/**
 * Engines and limiters in this process, on memory stores and an in-process bus, and what `ctl` sees
 * of them.
 */
export async function clusterInMemory(
  names: readonly string[],
  limiterNames: readonly string[] = [],
) {
  const clock = systemClock;
  const bugs: unknown[] = [];
  const onBug = (bug: unknown) => void bugs.push(bug);
  const opened = new AsyncDisposableStack();
  // The clock's timers do not keep a process alive, and here is nothing else that would.
  const alive = setInterval(() => undefined, 60_000);
  opened.defer(() => clearInterval(alive));
  const bus = opened.use(inProcessBus({ clock, onBug }));
  const stores = memoryStores();
  const engines = new Map<string, EngineNode>();
  const limiters = new Map<string, LimiterNode>();
  const nodeAt = (address: string) => found(engines, address);
  const anyAt = (address: string) => engines.get(address) ?? found(limiters, address);

  async function join(service: ShardedService, name: string): Promise<void> {
    const address = `${name}:${service === 'engine' ? 8_100 : 8_200}`;
    const metrics = createMetrics();
    const shardCount = await stores.shards.fixCount(service, SHARDS);
    const cluster = await stores.shards.fixCluster('c1');
    // All hear of each other before anybody claims.
    const place = { service, name, shardCount, cluster, startupGraceMs: 200 };
    const config = { ...place, prefix: 'test', isDirect: true };
    const ports = {
      ...{ ...stores, bus, clock, onBug, randomness: systemRandomness },
      metrics: nodeMetrics(metrics, service),
      probe: async (other: string) => {
        const node = engines.get(other) ?? limiters.get(other);
        const incarnation = node?.incarnation?.id;
        if (incarnation === undefined) return { kind: 'refused' } as const;
        return { kind: 'answered', incarnation } as const;
      },
      onNotice: () => undefined,
    };
    if (service === 'limiter') {
      const adminAt = (other: string) => found(limiters, other);
      const limiter = new LimiterNode(
        { node: config, limiter: ACTORS },
        { limiter: { ...ports, metrics, accountNews: NO_NEWS }, node: ports, adminAt },
      );
      limiters.set(address, opened.use(limiter));
      await limiter.join(address);
    } else {
      const connect = (other: string) => inProcessPeer(nodeAt(other), clock);
      const calling = { connect, random: Math.random, onRetry: () => undefined };
      const engine = new EngineNode(
        { node: config, actors: ACTORS },
        { engine: { ...ports, metrics }, node: ports, ...calling },
      );
      engines.set(address, opened.use(engine));
      await engine.join(address);
    }
  }

  await Promise.all([
    ...names.map((name) => join('engine', name)),
    ...limiterNames.map((name) => join('limiter', name)),
  ]);
  const ports: ClusterPorts = {
    ...stores,
    clock,
    prefix: 'test',
    openBus: async () => ({
      isConnected: true,
      publish: (subject, message) => bus.publish(subject, message),
      subscribe: (subject, listener) => bus.subscribe(subject, listener),
      [Symbol.asyncDispose]: async () => undefined,
    }),
    adminAt: (address) => ({
      drain: async () => await anyAt(address).drain(),
      readInstance: async (id) => await nodeAt(address).readInstance(id),
    }),
  };
  let lastCallId = 0;
  return {
    ports,
    stores,
    bugs,
    bus,
    node: (name: string) => nodeAt(`${name}:8100`),
    limiter: (name: string) => found(limiters, `${name}:8200`),
    /** Asks whoever serves the instance. */
    async ask(instanceId: string, command: EngineCommand) {
      lastCallId += 1;
      const call = callOf(command, { instanceId, callId: lastCallId });
      for (const node of engines.values()) {
        if ((await node.readInstance(instanceId)).isServed) return await node.ask(call);
      }
      throw new Error(`nobody serves ${instanceId}`);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function memoryStores() {
  return {
    accounts: memoryAccountStore(systemClock),
    meters: memoryMeterStore(),
    journals: memoryJournalStore(systemClock),
    shards: memoryShardStore(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
  };
}

function found<Node>(nodes: ReadonlyMap<string, Node>, address: string): Node {
  const node = nodes.get(address);
  if (node !== undefined) return node;
  throw new Fault('service_unavailable', `no node of a cluster answers at ${address}`);
}
