import { decodeRecord } from '#actor-runtime/record-codec';
import { shardOf } from '#cluster/shard-owners';
import { LEAVE_MS_MAX } from '#shards/journal-bounds';
import { DeliveryWatch } from '#test/simulation/checks/deliveries';
import { Ledger } from '#test/simulation/checks/ledger';
import { Oracle } from '#test/simulation/checks/oracle';
import type { Flaws } from '#test/simulation/faults/flaws';
import type { Scenario } from '#test/simulation/scenario';
import { SimulatedActorStores } from '#test/simulation/simulated/actor-stores';
import { SimulatedBus } from '#test/simulation/simulated/bus';
import { NO_COURIER_FAULTS, SimulatedCouriers } from '#test/simulation/simulated/couriers';
import { SimulatedEdge } from '#test/simulation/simulated/edge';
import { SimulatedEngine } from '#test/simulation/simulated/engine';
import { SimulatedFeedStores } from '#test/simulation/simulated/feed-stores';
import { SimulatedJournals } from '#test/simulation/simulated/journals';
import { SimulatedLimiter } from '#test/simulation/simulated/limiter';
import { SimulatedMeterStores } from '#test/simulation/simulated/meter-stores';
import { SimulatedNetwork } from '#test/simulation/simulated/network';
import { addressOf, type NodeProcess } from '#test/simulation/simulated/node';
import { SimulatedProcess } from '#test/simulation/simulated/process';
import { ProcessSlot } from '#test/simulation/simulated/process-slot';
import { type ShardListener, SimulatedShards } from '#test/simulation/simulated/shards';
import { NO_STORE_FAULTS, SimulatedStore } from '#test/simulation/simulated/store';
import type { JournalListener } from '#test/simulation/stored/journal-watch';
import { Replicas } from '#test/simulation/stored/replicas';
import { Violation } from '#test/simulation/stored/version-index';
import type { World } from '#test/simulation/world';

/** A sealed journal. */
export type Seal = {
  /** Incarnation id of the journal. */
  readonly incarnation: string;
  /** Name of the process that wrote the journal. */
  readonly victim: string;
  /** Name of the sealing process. */
  readonly by: string;
  /** True time in ms since the victim's last disturbance; 0 if the victim is dead or paused. */
  readonly calmMs: number;
};

/** A simulated cluster: stores, bus, network and processes. */
export class SimulatedCluster {
  readonly world: World;
  readonly scenario: Scenario;
  readonly flaws: Flaws;
  readonly store: SimulatedStore;
  readonly replicas: Replicas;
  readonly bus: SimulatedBus;
  readonly network: SimulatedNetwork;
  readonly journals: SimulatedJournals;
  readonly shards: SimulatedShards;
  readonly actors: SimulatedActorStores;
  readonly feeds: SimulatedFeedStores;
  readonly customers: SimulatedMeterStores;
  readonly oracle: Oracle;
  /** Undefined if the scenario has no webhook endpoints. */
  readonly couriers: SimulatedCouriers | undefined;
  /** Undefined if the scenario has no limiters. */
  readonly ledger: Ledger | undefined;
  readonly seals: Seal[] = [];
  readonly #engines: readonly ProcessSlot<SimulatedEngine>[];
  readonly #limiters: readonly ProcessSlot<SimulatedLimiter>[];
  readonly #edges: readonly ProcessSlot<SimulatedEdge>[];
  readonly #homes = new Map<string, string>();
  /** Journals that another process has requested to seal. */
  readonly #doomed = new Set<string>();
  /** Incarnations that ran when a process requested their seal, each with this process. */
  readonly #sealedAlive = new Set<string>();
  readonly #disturbedMs = new Map<string, number>();

  constructor(world: World, scenario: Scenario, flaws: Flaws) {
    this.world = world;
    this.scenario = scenario;
    this.flaws = flaws;
    this.store = new SimulatedStore(world);
    this.replicas = new Replicas(world);
    this.bus = new SimulatedBus(world);
    this.network = new SimulatedNetwork(world, flaws.lifelines);
    // Few buckets, so that several dirty actors share a bucket and a batch.
    const bucketOf = (id: string) => shardOf(id, scenario.shardCount);
    this.actors = new SimulatedActorStores(
      this.store,
      this.replicas,
      bucketOf,
      (id) => this.oracle.stored(id),
      flaws.checkpoints,
    );
    this.feeds = new SimulatedFeedStores(this.store, this.replicas, bucketOf);
    this.customers = new SimulatedMeterStores(this.store, this.replicas, bucketOf);
    const fail = (violation: Violation): void => world.fail(violation);
    this.ledger = scenario.limiters === 0 ? undefined : new Ledger(fail);
    this.oracle = new Oracle(this.actors, (id) => shardOf(id, scenario.shardCount), fail);
    this.couriers = this.#newCouriers(fail);
    this.journals = new SimulatedJournals(
      this.store,
      this.replicas,
      this.#journalListener(fail),
      flaws.journals,
    );
    const onChanged: ShardListener = (service, row, by) => {
      const { shard, epoch, owner } = row;
      world.note(`${service} shard ${shard} at epoch ${epoch} has owner ${owner}, set by ${by}`);
      if (service !== 'engine') return;
      this.oracle.changed(row);
      this.couriers?.watch.changed(row);
    };
    this.shards = new SimulatedShards(this.store, onChanged, flaws.shards);
    const { engines, limiters, edges, shardCount } = scenario;
    const edgePorts = { bus: this.bus, network: this.network, ledger: this.ledger, shardCount };
    this.#engines = this.#slots('n', engines, (process) => new SimulatedEngine(process, this));
    this.#limiters = this.#slots('l', limiters, (process) => new SimulatedLimiter(process, this));
    this.#edges = this.#slots('e', edges, (process) => new SimulatedEdge(process, edgePorts));
    for (const { what } of scenario.disturbances) {
      if (what.kind !== 'refusal' || what.how !== 'proxy') continue;
      this.network.setProxied(this.nodes[what.node]?.name ?? '');
    }
  }

  /** Engines, then limiters. Disturbances use the index. */
  get nodes(): readonly ProcessSlot[] {
    return [...this.#engines, ...this.#limiters];
  }

  /** Edge slots. Disturbances use the index. */
  get edgeSlots(): readonly ProcessSlot[] {
    return this.#edges;
  }

  /** Running limiters. */
  get limiters(): SimulatedLimiter[] {
    return this.#limiters.flatMap(({ running }) => running ?? []);
  }

  /** Running edges. */
  get edges(): SimulatedEdge[] {
    return this.#edges.flatMap(({ running }) => running ?? []);
  }

  /** Starts every stopped process. */
  start(): void {
    for (const slot of [...this.#edges, ...this.nodes]) slot.start();
  }

  /** Starts the scenario's random faults. */
  trouble(): void {
    const { store, replicas, bus, network, couriers } = this.scenario;
    this.store.faults = store;
    this.replicas.faults = replicas;
    this.bus.faults = bus;
    this.network.faults = network;
    if (this.couriers !== undefined) this.couriers.faults = couriers;
  }

  /** Ends every fault. Resumes and reconnects all processes, and starts stopped processes. */
  heal(): void {
    this.world.note('all faults end');
    this.store.faults = NO_STORE_FAULTS;
    this.replicas.heal();
    this.bus.heal();
    this.network.heal();
    if (this.couriers !== undefined) this.couriers.faults = NO_COURIER_FAULTS;
    for (const { name, running } of this.nodes) {
      this.store.setCut(name, false);
      running?.process.resume();
    }
    this.start();
  }

  /**
   * Stops all processes cleanly one by one, engines first. Resolves to true if a process may need
   * tail recovery, because of a pending seal or a timeout.
   */
  async stop(): Promise<boolean> {
    const leaving = this.#newest;
    let slowestMs = 0;
    for (const slot of [...this.#engines, ...this.#limiters, ...this.#edges]) {
      const startedMs = this.world.nowMs;
      await slot.stop();
      slowestMs = Math.max(slowestMs, this.world.nowMs - startedMs);
    }
    const isDoomed = leaving.some((incarnation) => this.#doomed.has(incarnation));
    return isDoomed || slowestMs >= LEAVE_MS_MAX;
  }

  /** Whether a requested seal may still fence a healthy node. */
  get isDoomed(): boolean {
    return this.#newest.some((incarnation) => this.#doomed.has(incarnation));
  }

  /** Newest journal of each node. */
  get #newest(): string[] {
    return [
      ...new Map([...this.#homes].map(([incarnation, home]) => [home, incarnation])).values(),
    ];
  }

  /** Must be called when a process is disturbed. Its peers may suspect the process from then on. */
  disturbed(name: string): void {
    this.#disturbedMs.set(name, this.world.nowMs);
  }

  /** No process may take a running incarnation for dead (I8). */
  sealedAsDead(incarnation: string, by: string): void {
    if (!this.#sealedAlive.has(`${incarnation} ${by}`)) return;
    const victim = this.#homes.get(incarnation);
    this.world.fail(new Violation(`${by} took ${incarnation} of ${victim} for dead, which runs`));
  }

  #isRunning(incarnation: string): boolean {
    const { running } = this.nodes.find(({ name }) => name === this.#homes.get(incarnation)) ?? {};
    if (running === undefined) return false;
    return this.network.listenerAt(addressOf(running.process))?.incarnation() === incarnation;
  }

  #newCouriers(fail: (violation: Violation) => void): SimulatedCouriers | undefined {
    const { webhooks, deliveryFailuresMax, shardCount } = this.scenario;
    if (webhooks.length === 0) return undefined;
    const nowMs = () => this.world.nowMs;
    const watch = new DeliveryWatch({ nowMs, shardOf: (id) => shardOf(id, shardCount), fail });
    return new SimulatedCouriers(this.world, watch, deliveryFailuresMax, this.flaws.couriers);
  }

  #journalListener(fail: (violation: Violation) => void): JournalListener {
    return {
      begun: (incarnation, by) => this.#homes.set(incarnation, by),
      sealing: (incarnation, by) => {
        if (by !== this.#homes.get(incarnation)) this.#doomed.add(incarnation);
        const request = `${incarnation} ${by}`;
        if (this.#isRunning(incarnation)) this.#sealedAlive.add(request);
        else this.#sealedAlive.delete(request);
      },
      appended: (incarnation, slot, lines) => {
        const records = lines.map(decodeRecord);
        this.oracle.appended(incarnation, slot, records);
        this.ledger?.appended(incarnation, slot, records);
      },
      withdrawn: (incarnation, slot, lines) => {
        const records = lines.map(decodeRecord);
        this.oracle.withdrawn(incarnation, slot, records);
        this.ledger?.withdrawn(incarnation, slot, records);
      },
      truncated: (incarnation, below) => this.oracle.truncated(incarnation, below),
      ended: (incarnation, by) => {
        this.couriers?.watch.sealed(incarnation);
        this.#sealed(incarnation, by);
      },
      fail,
    };
  }

  #slots<Running extends NodeProcess>(
    letter: string,
    count: number,
    start: (process: SimulatedProcess) => Running,
  ): ProcessSlot<Running>[] {
    const ports = {
      world: this.world,
      processOf: (name: string) => this.#process(name),
      start,
      onDisturbed: (name: string) => this.disturbed(name),
    };
    return Array.from({ length: count }, (_, index) => new ProcessSlot(`${letter}${index}`, ports));
  }

  #process(name: string): SimulatedProcess {
    this.world.note(`${name} starts`);
    const { skewMsMax } = this.scenario;
    const skewMs = this.world.random.between(-skewMsMax, skewMsMax);
    return new SimulatedProcess(this.world, name, skewMs);
  }

  #sealed(incarnation: string, by: string): void {
    const victim = this.#homes.get(incarnation) ?? '?';
    this.world.note(`${by} sealed the journal ${incarnation} of ${victim}`);
    const running = this.nodes.find(({ name }) => name === victim)?.running;
    const isWell = running?.process.isPaused === false;
    const sinceMs = this.#disturbedMs.get(victim) ?? Number.NEGATIVE_INFINITY;
    const calmMs = isWell ? this.world.nowMs - sinceMs : 0;
    this.seals.push({ incarnation, victim, by, calmMs });
  }
}
