import type { Bus } from '#bus/bus';
import type { ClockWatch } from '#cluster/clock-watch';
import type { Config } from '#config';
import { EngineNode } from '#engine/engine-node';
import { engineConnector, retryCounter } from '#process/cluster';
import type { Foundation } from '#process/foundation';
import { nodePortsOf, placeOf, showShards } from '#process/membership';
import type { SharedStores } from '#process/ports';

/** An engine of a cluster, reached at `address`. Fulfils when it has joined. */
export async function joinEngines(
  config: Config,
  foundation: Foundation,
  stores: SharedStores,
  bus: Bus,
  address: string,
  clocks?: ClockWatch,
): Promise<EngineNode> {
  const place = await placeOf('engine', config, foundation, stores, address);
  const node = await EngineNode.join(
    { ...foundation.actors, ...place },
    {
      ...foundation,
      ...stores,
      ...nodePortsOf('engine', foundation, bus, clocks),
      connect: engineConnector(foundation),
      random: Math.random,
      onRetry: retryCounter(foundation),
    },
  );
  showShards('engine', foundation.metrics, node);
  return node;
}
