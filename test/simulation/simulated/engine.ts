import { EngineNode } from '#engine/engine-node';
import type { ChunkBounds } from '#engine/instance/rows';
import type { ClusterParts } from '#test/simulation/simulated/cluster-parts';
import { SimulatedConnection } from '#test/simulation/simulated/connection';
import { Membership, type NodeProcess, nodeParts } from '#test/simulation/simulated/node';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { ENGINE_CALLS } from '#test/simulation/simulated/protocol';
import { silentMetrics } from '#test/simulation/simulated/silent-metrics';

/** Small chunk bounds, so that instances fill chunks. Half of the nodes have another row bound. */
const boundsOf = (name: string): ChunkBounds => {
  const [bytesMax, rowsMax] = [1_024, 3 + (Number(name.slice(1)) % 2)];
  return { history: { rowsMax, bytesMax }, drift: { rowsMax: 2, bytesMax } };
};

/** One engine process: the real engine node on simulated ports. */
export class SimulatedEngine implements NodeProcess {
  readonly process: SimulatedProcess;
  readonly #membership: Membership;

  constructor(process: SimulatedProcess, cluster: ClusterParts) {
    this.process = process;
    const { address, actorConfig, config, ports } = nodeParts('engine', process, cluster);
    const { network, world, actors } = cluster;
    const incarnation = () => node.incarnation?.id;
    const courier = cluster.couriers?.portOf(process, incarnation);
    const feeds = cluster.feeds.feedsOf(process);
    const { random } = process;
    const { clock, onBug } = ports;
    const chunkBounds = boundsOf(process.name);
    const instances = actors.instancesOf(process);
    const listings = actors.listingsOf(process);
    const node: EngineNode = new EngineNode(
      { node: config, actors: actorConfig },
      {
        engine: {
          ...{ clock, metrics: silentMetrics, instances, listings, feeds, courier },
          ...{ chunkBounds, onBug },
        },
        node: ports,
        random: () => random.unit(),
        connect: (address: string) =>
          new SimulatedConnection(network, process, address, ENGINE_CALLS),
        onRetry: () => undefined,
      },
    );
    network.listen(address, { process, engine: node, incarnation });
    this.#membership = new Membership(process, node, (error) => world.fail(error));
  }

  async leave(): Promise<void> {
    await this.#membership.leave();
  }
}
