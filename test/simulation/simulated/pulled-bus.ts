import type { Bus } from '#bus/bus';
import { RecentMessages } from '#bus/node-pull';
import type { SignedBus } from '#bus/signed-bus';
import { pulledBus } from '#cluster/pulled-bus';
import type { ShardedService } from '#storage/ports/cluster';
import type { SimulatedBus } from '#test/simulation/simulated/bus';
import { CLUSTER } from '#test/simulation/simulated/cluster-parts';
import type { SimulatedNetwork } from '#test/simulation/simulated/network';
import type { SimulatedProcess } from '#test/simulation/simulated/process';

/** Timeout of a pull, in milliseconds. */
const PULL_MS_MAX = 1_000;

/** Messages that each simulated process published in the last seconds. */
const recents = new WeakMap<SimulatedProcess, RecentMessages>();

/** Bus of a process that pulls messages from nodes while the simulated server is away. */
export function pulledPortOf(
  process: SimulatedProcess,
  { bus, network }: { readonly bus: SimulatedBus; readonly network: SimulatedNetwork },
  services: readonly ShardedService[],
): Bus {
  const { clock } = process;
  const recent = recents.get(process) ?? new RecentMessages(clock);
  recents.set(process, recent);
  const port = bus.portOf(process);
  const unsigned: SignedBus = {
    get isConnected() {
      return port.isConnected;
    },
    publish(subject, message) {
      recent.add(subject, message.slice());
      port.publish(subject, message);
    },
    subscribe: (subject, listener) => port.subscribe(subject, listener),
    receivePulled: (subject, message) => bus.deliver(process, subject, message),
    [Symbol.asyncDispose]: () => port[Symbol.asyncDispose](),
  };
  return pulledBus(unsigned, {
    ...{ clock, prefix: CLUSTER.prefix, services, recent },
    pull: () => async (address, after) => {
      const messages = await network.ask(process, address, PULL_MS_MAX, (listener) =>
        recents.get(listener.process)?.since(after),
      );
      if (messages === undefined) throw new Error('no answer');
      return messages;
    },
  });
}
