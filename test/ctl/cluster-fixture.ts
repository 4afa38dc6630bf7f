import { inProcessBus } from '#bus/in-process-bus';
import type { ClusterPorts } from '#ctl/cluster-ports';
import { EngineNode } from '#engine/engine-node';
import { Fault } from '#fault/fault';
import { systemClock } from '#platform/clock';
import { createMetrics } from '#platform/metrics';
import { systemRandomness } from '#platform/randomness';
import { inProcessPeer } from '#routing/engine-peer';
import { nodeMetrics } from '#runtime/node-metrics';
import { memoryInstanceStore } from '#storage/memory/memory-instance-store';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { memoryListingStore } from '#storage/memory/memory-listing-store';
import { memoryShardStore } from '#storage/memory/memory-shard-store';
import { callOf } from '#test/engine/instance-fixture';
import type { EngineOperation } from '#wire/engine-messages';

/** Shards of the cluster: few, so that tables are short. */
export const SHARDS = 8;

const ACTORS = { idleAgeMs: 60_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** Engines in this process, on memory stores and an in-process bus, and what `ctl` sees of them. */
export async function clusterInMemory(names: readonly string[]) {
  const clock = systemClock;
  const bugs: unknown[] = [];
  const onBug = (bug: unknown) => void bugs.push(bug);
  const opened = new AsyncDisposableStack();
  // The clock's timers do not keep a process alive, and here is nothing else that would.
  const alive = setInterval(() => undefined, 60_000);
  opened.defer(() => clearInterval(alive));
  const bus = opened.use(inProcessBus({ clock, onBug }));
  const stores = {
    journals: memoryJournalStore(clock),
    shards: memoryShardStore(),
    instances: memoryInstanceStore(),
    listings: memoryListingStore(),
  };
  const nodes = new Map<string, EngineNode>();
  const nodeAt = (address: string): EngineNode => {
    const node = nodes.get(address);
    if (node !== undefined) return node;
    throw new Fault('service_unavailable', `no engine of a cluster answers at ${address}`);
  };

  async function join(name: string, settleMs: number): Promise<void> {
    const address = `${name}:8100`;
    const metrics = createMetrics();
    const node = await EngineNode.join(
      {
        ...ACTORS,
        service: 'engine',
        node: name,
        address,
        shardCount: await stores.shards.fixCount('engine', SHARDS),
        prefix: 'test',
        cluster: await stores.shards.fixCluster('c1'),
        settleMs,
        isDirect: true,
      },
      {
        ...stores,
        bus,
        clock,
        metrics,
        onBug,
        randomness: systemRandomness,
        random: Math.random,
        nodeMetrics: nodeMetrics(metrics, 'engine'),
        connect: (other) => inProcessPeer(nodeAt(other), clock),
        probe: async (other) => {
          const incarnation = nodes.get(other)?.incarnation?.id;
          if (incarnation === undefined) return { kind: 'refused' };
          return { kind: 'answered', incarnation };
        },
        onRetry: () => undefined,
        onNotice: () => undefined,
      },
    );
    nodes.set(address, node);
    opened.use(node);
  }

  // All hear of each other before anybody claims.
  await Promise.all(names.map((name) => join(name, 200)));
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
    toolsAt: (address) => nodeAt(address),
  };
  let lastCallId = 0;
  return {
    ports,
    stores,
    bugs,
    bus,
    node: (name: string) => nodeAt(`${name}:8100`),
    /** Asks whoever serves the instance. */
    async ask(instanceId: string, operation: EngineOperation) {
      lastCallId += 1;
      const call = callOf(operation, { instanceId, callId: lastCallId });
      for (const node of nodes.values()) {
        if ((await node.inspect(instanceId)).isServed) return await node.ask(call);
      }
      throw new Error(`nobody serves ${instanceId}`);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
