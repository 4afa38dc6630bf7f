import type { AccountAdmin } from '#limiter/account-admin';
import { LimiterNode } from '#limiter/limiter-node';
import { busAccountNews } from '#process/bus-account-news';
import { CLUSTER, type ClusterParts } from '#test/simulation/cluster-parts';
import {
  addressOf,
  configOf,
  Joining,
  type NodeProcess,
  portsOf,
} from '#test/simulation/simulated-node';
import type { SimulatedProcess } from '#test/simulation/simulated-process';

/** One limiter process: the real limiter node, and so the real meters, over the ports of its world. */
export class SimulatedLimiter implements NodeProcess {
  readonly process: SimulatedProcess;
  readonly #joining: Joining<LimiterNode>;

  constructor(process: SimulatedProcess, cluster: ClusterParts) {
    this.process = process;
    const { network, world, customers } = cluster;
    network.listen(addressOf(process), {
      process,
      limiter: { ask: (call) => this.#joining.joined.ask(call) },
      incarnation: () => this.#joining.node?.incarnation?.id,
    });
    const ports = portsOf(process, cluster);
    const joining = LimiterNode.join(configOf('limiter', process, cluster), {
      ...ports,
      accounts: customers.accountsOf(process),
      meters: customers.metersOf(process),
      accountNews: busAccountNews({ ...CLUSTER, bus: ports.bus }),
      adminAt: () => {
        throw new Error('usage is not asked for here');
      },
    });
    this.#joining = new Joining('limiter', joining, (error) => world.fail(error));
  }

  /** Administration of all accounts, as soon as it has joined. */
  async admin(): Promise<AccountAdmin> {
    return (await this.#joining.whenJoined).admin;
  }

  async leave(): Promise<void> {
    await this.#joining.leave();
  }
}
