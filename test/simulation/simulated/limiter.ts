import type { AccountAdmin } from '#limiter/admin/accounts';
import { LimiterNode } from '#limiter/limiter-node';
import { busAccountNews } from '#startup/cluster';
import { memoryKeyUseStore } from '#storage/memory/accounts';
import { CLUSTER, type ClusterParts } from '#test/simulation/simulated/cluster-parts';
import { Membership, type NodeProcess, nodeParts } from '#test/simulation/simulated/node';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { silentMetrics } from '#test/simulation/simulated/silent-metrics';
import { memoryTrail } from '#test/support/memory-trail';

/** One limiter process: the real limiter node with real meters on simulated ports. */
export class SimulatedLimiter implements NodeProcess {
  readonly process: SimulatedProcess;
  readonly #node: LimiterNode;
  readonly #membership: Membership;

  constructor(process: SimulatedProcess, cluster: ClusterParts) {
    this.process = process;
    const { address, actorConfig, config, ports } = nodeParts('limiter', process, cluster);
    const { network, world, customers } = cluster;
    const { clock, randomness, bus, onBug } = ports;
    const accounts = customers.accountsOf(process);
    const meters = customers.metersOf(process);
    const accountNews = busAccountNews({ ...CLUSTER, bus });
    const node = new LimiterNode(
      { node: config, limiter: actorConfig },
      {
        limiter: {
          accounts,
          // No simulated call reads past months.
          meters: { ...meters, readMonths: async () => [] },
          audit: memoryTrail(clock),
          keyUses: memoryKeyUseStore(),
          accountNews,
          clock,
          randomness,
          metrics: silentMetrics,
          onBug,
        },
        node: ports,
        adminAt: () => {
          throw new Error('no simulated call asks for usage');
        },
      },
    );
    this.#node = node;
    const incarnation = () => node.incarnation?.id;
    network.listen(address, { process, limiter: node, incarnation });
    this.#membership = new Membership(process, node, (error) => world.fail(error));
  }

  /** Account administration. Resolves when the node has joined. */
  async admin(): Promise<AccountAdmin> {
    await this.#membership.joined;
    return this.#node.admin;
  }

  async leave(): Promise<void> {
    await this.#membership.leave();
  }
}
