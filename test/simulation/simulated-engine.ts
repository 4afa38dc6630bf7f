import { EngineNode } from '#engine/engine-node';
import { Fault } from '#fault/fault';
import { silentMetrics } from '#test/simulation/silent-metrics';
import type { SimulatedCluster } from '#test/simulation/simulated-cluster';
import { CLUSTER } from '#test/simulation/simulated-edge';
import type { SimulatedProcess } from '#test/simulation/simulated-process';
import { Violation } from '#test/simulation/version-index';
import type { EngineClient } from '#wire/engine-messages';

/** How long a probe may take, in milliseconds. */
const PROBE_MS_MAX = 1_000;

/** How long a node listens who else is there before it claims anything, in milliseconds. */
const SETTLE_MS = 1_500;

/** Bytes that idle actors may hold: enough for all of them here. */
const MEMORY_BYTES_MAX = 64 * 1_024 * 1_024;

/** One engine process: the real engine node over the ports of its world. */
export class SimulatedEngine {
  readonly process: SimulatedProcess;
  readonly #joining: Promise<EngineNode>;
  #node: EngineNode | undefined;

  /** Opens the address at once and joins; calls before that are refused. */
  constructor(process: SimulatedProcess, cluster: SimulatedCluster) {
    this.process = process;
    const { network, world } = cluster;
    const address = `${process.name}:8100`;
    const engine: EngineClient = { ask: (call) => this.#joined.ask(call) };
    network.listen(address, { process, engine, incarnation: () => this.#node?.incarnation?.id });
    this.#joining = EngineNode.join(configOf(process, cluster), portsOf(process, cluster));
    this.#joining.then(
      (node) => {
        this.#node = node;
      },
      (error: unknown) => world.fail(error),
    );
  }

  /** SIGTERM: gives everything up, then is done. */
  async leave(): Promise<void> {
    const node = await this.#joining;
    await node[Symbol.asyncDispose]();
  }

  get #joined(): EngineNode {
    if (this.#node !== undefined) return this.#node;
    const options = { reason: 'engine_unavailable', retryAfterS: 1 } as const;
    throw new Fault('service_unavailable', 'this node is joining', options);
  }
}

function configOf(process: SimulatedProcess, { scenario }: SimulatedCluster) {
  return {
    ...CLUSTER,
    service: 'engine',
    node: process.name,
    address: `${process.name}:8100`,
    shardCount: scenario.shardCount,
    settleMs: SETTLE_MS,
    isDirect: true,
    idleAgeMs: scenario.idleAgeMs,
    memoryBytesMax: MEMORY_BYTES_MAX,
  } as const;
}

function portsOf(process: SimulatedProcess, cluster: SimulatedCluster) {
  const { world, network } = cluster;
  const { name, random, clock, randomness } = process;
  const note = (text: string) => world.note(`${name} ${text}`);
  return {
    clock,
    randomness,
    random: () => random.unit(),
    metrics: silentMetrics,
    journals: cluster.journals.portOf(process),
    shards: cluster.shards.portOf(process),
    instances: cluster.actors.instancesOf(process),
    listings: cluster.actors.listingsOf(process),
    bus: cluster.bus.portOf(process),
    connect: (address: string) => network.connect(process, address),
    probe: (address: string) => network.probe(process, address, PROBE_MS_MAX),
    onRetry: () => undefined,
    onNotice: note,
    onBug: (error: unknown) => {
      // A store that gives no answer is no bug, though it is reported in the same way.
      if (error instanceof Fault && error.code === 'service_unavailable') note(error.message);
      else world.fail(new Violation(`bug in ${name}: ${error}`, { cause: error }));
    },
    nodeMetrics: {
      appended: () => undefined,
      adopted: (records: number) => note(`adopted ${records}`),
      moved: (reason: string) => note(`moved: ${reason}`),
      sealed: (ground: string) => note(`sealed: ${ground}`),
      recovered: () => undefined,
      fenced: () => note('fenced'),
    },
  };
}
