import { EngineNode } from '#engine/engine-node';
import type { SimulatedCluster } from '#test/simulation/simulated-cluster';
import {
  addressOf,
  configOf,
  Joining,
  type NodeProcess,
  portsOf,
} from '#test/simulation/simulated-node';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import { ENGINE_CALLS } from '#test/simulation/simulated-protocol';

/** One engine process: the real engine node over the ports of its world. */
export class SimulatedEngine implements NodeProcess {
  readonly process: SimulatedProcess;
  readonly #joining: Joining<EngineNode>;

  constructor(process: SimulatedProcess, cluster: SimulatedCluster) {
    this.process = process;
    const { network, world, actors } = cluster;
    const { random } = process;
    network.listen(addressOf(process), {
      process,
      engine: { ask: (call) => this.#joining.joined.ask(call) },
      incarnation: () => this.#joining.node?.incarnation?.id,
    });
    const joining = EngineNode.join(configOf('engine', process, cluster), {
      ...portsOf(process, cluster),
      random: () => random.unit(),
      instances: actors.instancesOf(process),
      listings: actors.listingsOf(process),
      connect: (address: string) => network.connect(process, address, ENGINE_CALLS),
      onRetry: () => undefined,
    });
    this.#joining = new Joining('engine', joining, (error) => world.fail(error));
  }

  async leave(): Promise<void> {
    await this.#joining.leave();
  }
}
