import { EngineNode } from '#engine/engine-node';
import type { ClusterParts } from '#test/simulation/cluster-parts';
import { SimulatedConnection } from '#test/simulation/simulated-connection';
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

  constructor(process: SimulatedProcess, cluster: ClusterParts) {
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
      connect: (address: string) =>
        new SimulatedConnection(network, process, address, ENGINE_CALLS),
      onRetry: () => undefined,
    });
    this.#joining = new Joining('engine', joining, (error) => world.fail(error));
  }

  async leave(): Promise<void> {
    await this.#joining.leave();
  }
}
