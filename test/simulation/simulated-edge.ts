import { Members } from '#cluster/members';
import { RoutingTable } from '#cluster/routing-table';
import { shardOf } from '#cluster/shard-of';
import { EngineCalls } from '#edge/engine-calls';
import { RoutedEngine } from '#routing/routed-engine';
import type { SimulatedBus } from '#test/simulation/simulated-bus';
import type { SimulatedNetwork } from '#test/simulation/simulated-network';
import type { SimulatedProcess } from '#test/simulation/simulated-process';

/** Names the instances of keyed creates; the same on every edge. */
const SECRET = 'simulated';

/** Call ids stay below 2^52, so that they are exact as numbers everywhere. */
const CALL_ID_PARTS = 2 ** 47;

/** What an edge needs of its world. */
export type EdgePorts = {
  readonly bus: SimulatedBus;
  readonly network: SimulatedNetwork;
  readonly shardCount: number;
};

/** The one cluster of a world, and the first part of its subjects. */
export const CLUSTER = { cluster: 'simulated', prefix: 'sim' } as const;

/** One edge process: its routes, its retries and the ids it gives, without the HTTP before them. */
export class SimulatedEdge {
  readonly process: SimulatedProcess;
  readonly calls: EngineCalls;
  #lastCallId: number;

  constructor(process: SimulatedProcess, ports: EdgePorts) {
    this.process = process;
    this.#lastCallId = process.random.whole(0, CALL_ID_PARTS - 1) * 2 ** 5;
    const { clock, random, randomness } = process;
    const { shardCount, network } = ports;
    const members = new Members({
      bus: ports.bus.portOf(process),
      clock,
      ...CLUSTER,
      service: 'engine',
      self: undefined,
      onForeignCluster: () => {
        throw new Error('there is one cluster');
      },
    });
    const engine = new RoutedEngine({
      routes: new RoutingTable({ members, shardCount }),
      shardCount,
      shardOf: (id) => shardOf(id, shardCount),
      connect: (address) => network.connect(process, address),
      clock,
      random: () => random.unit(),
    });
    this.calls = new EngineCalls(engine, clock, randomness, SECRET);
  }

  /** A new id; unlike any of another edge's. */
  nextCallId(): number {
    this.#lastCallId += 1;
    return this.#lastCallId;
  }
}
