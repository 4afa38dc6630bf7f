import { shardOf } from '#cluster/shard-of';
import type { Append } from '#storage/journal-store';
import type { ShardRow } from '#storage/shard-store';
import type { Disturbance } from '#test/simulation/disturbances';
import type { Flaws } from '#test/simulation/flaws';
import { Oracle } from '#test/simulation/oracle';
import type { Scenario } from '#test/simulation/scenario';
import { SimulatedActorStores } from '#test/simulation/simulated-actor-stores';
import { SimulatedBus } from '#test/simulation/simulated-bus';
import { SimulatedEdge } from '#test/simulation/simulated-edge';
import { SimulatedEngine } from '#test/simulation/simulated-engine';
import { SimulatedJournals } from '#test/simulation/simulated-journals';
import { SimulatedNetwork } from '#test/simulation/simulated-network';
import { SimulatedProcess } from '#test/simulation/simulated-process';
import { SimulatedShards } from '#test/simulation/simulated-shards';
import { NO_STORE_FAULTS, SimulatedStore } from '#test/simulation/simulated-store';
import type { World } from '#test/simulation/world';

type SeparationKind =
  | 'busDown'
  | 'busCut'
  | 'busDeaf'
  | 'netCut'
  | 'edgeCut'
  | 'edgeBusCut'
  | 'island';

/** A place in the cluster where one process after another lives. */
type Slot<Running> = { readonly name: string; running: Running | undefined; isStopping: boolean };

/** What was sealed: whose journal, by whom, and what had been done to the victim lately. */
export type Seal = {
  readonly incarnation: string;
  readonly victim: string;
  readonly by: string;
  /** True time since the victim was last disturbed, in milliseconds; 0 while it is dead or paused. */
  readonly calmMs: number;
};

/** A whole cluster in one world: its stores, bus and network, and the processes that come and go. */
export class SimulatedCluster {
  readonly world: World;
  readonly scenario: Scenario;
  readonly flaws: Flaws;
  readonly store: SimulatedStore;
  readonly bus: SimulatedBus;
  readonly network: SimulatedNetwork;
  readonly journals: SimulatedJournals;
  readonly shards: SimulatedShards;
  readonly actors: SimulatedActorStores;
  readonly oracle: Oracle;
  readonly seals: Seal[] = [];
  readonly #nodes: Slot<SimulatedEngine>[];
  readonly #edges: Slot<SimulatedEdge>[];
  readonly #homes = new Map<string, string>();
  readonly #disturbedMs = new Map<string, number>();
  #births = 0;

  constructor(world: World, scenario: Scenario, flaws: Flaws) {
    this.world = world;
    this.scenario = scenario;
    this.flaws = flaws;
    this.store = new SimulatedStore(world);
    this.bus = new SimulatedBus(world);
    this.network = new SimulatedNetwork(world);
    this.actors = new SimulatedActorStores(
      this.store,
      (id) => this.oracle.stored(id),
      flaws.checkpoints,
    );
    this.oracle = new Oracle(
      this.actors.tables,
      (id) => shardOf(id, scenario.shardCount),
      (violation) => world.fail(violation),
    );
    const journalListener = {
      begun: (incarnation: string, by: string) => this.#homes.set(incarnation, by),
      appended: (append: Append) => this.oracle.appended(append),
      sealed: (incarnation: string, by: string) => this.#sealed(incarnation, by),
    };
    this.journals = new SimulatedJournals(this.store, journalListener, flaws.journals);
    const onChanged = (row: ShardRow, by: string): void => {
      world.note(`shard ${row.shard} at epoch ${row.epoch} is ${row.owner}'s, by ${by}`);
      this.oracle.changed(row);
    };
    this.shards = new SimulatedShards(this.store, onChanged, flaws.shards);
    const slots = (letter: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        name: `${letter}${index}`,
        running: undefined,
        isStopping: false,
      }));
    this.#nodes = slots('n', scenario.nodes);
    this.#edges = slots('e', scenario.edges);
  }

  /** The edges that callers can reach. */
  get edges(): SimulatedEdge[] {
    return this.#edges.flatMap(({ running }) => running ?? []);
  }

  /** Starts every process that does not run. */
  start(): void {
    for (const slot of this.#edges) if (slot.running === undefined) this.#startEdge(slot);
    for (const slot of this.#nodes) if (slot.running === undefined) this.#startNode(slot);
  }

  /** Begins with the faults that the scenario has all the time. */
  trouble(): void {
    const { store, bus, network } = this.scenario;
    this.store.faults = store;
    this.bus.faults = bus;
    this.network.faults = network;
  }

  /** Ends every fault: what was paused goes on, what was down starts, everybody reaches everybody. */
  heal(): void {
    this.world.note('everything heals');
    this.store.faults = NO_STORE_FAULTS;
    this.bus.heal();
    this.network.heal();
    for (const { name, running } of this.#nodes) {
      this.store.setCut(name, false);
      running?.process.resume();
    }
    this.start();
  }

  /** Lets a disturbance happen, and undoes it later. */
  disturb(what: Disturbance): void {
    this.world.note(`disturbance ${JSON.stringify(what)}`);
    const { nodes, edges } = this.scenario;
    const nameOf = (index: number): string => `n${index % nodes}`;
    const during = (forMs: number, set: (isOn: boolean) => void): void => {
      set(true);
      this.world.after(forMs, () => set(false));
    };
    switch (what.kind) {
      case 'kill':
        this.#kill(this.#nodes[what.node], what.downMs);
        break;
      case 'restart':
        this.#restart(this.#nodes[what.node], what.downMs);
        break;
      case 'killEdge':
        this.#killEdge(this.#edges[what.edge % edges], what.downMs);
        break;
      case 'pause':
        this.#pause(this.#nodes[what.node], what.how, what.forMs);
        break;
      case 'wallStep':
        this.#nodes[what.node]?.running?.process.stepWall(what.byMs);
        break;
      case 'storeStall':
        this.store.stall(what.forMs);
        break;
      case 'storeCut':
        this.#disturbed(nameOf(what.node));
        during(what.forMs, (isOn) => this.store.setCut(nameOf(what.node), isOn));
        break;
      case 'island': {
        during(what.forMs, (isOn) => this.#separate(what, isOn));
        const nap = () => this.#pause(this.#nodes[what.node], 'stop', what.napMs);
        if (what.napMs > 0) this.world.after(what.napAfterMs, nap);
        break;
      }
      default:
        during(what.forMs, (isOn) => this.#separate(what, isOn));
    }
  }

  #separate(what: Extract<Disturbance, { kind: SeparationKind }>, isOn: boolean): void {
    const { nodes, edges } = this.scenario;
    const nameOf = (index: number): string => `n${index % nodes}`;
    switch (what.kind) {
      case 'busDown':
        this.bus.isDown = isOn;
        break;
      case 'busCut':
        this.bus.setCut(nameOf(what.node), isOn);
        break;
      case 'busDeaf':
        this.bus.setDeaf(nameOf(what.from), nameOf(what.to), isOn);
        break;
      case 'netCut':
        this.network.setCut(nameOf(what.from), nameOf(what.to), isOn);
        break;
      case 'edgeCut':
        this.network.setCut(`e${what.edge % edges}`, nameOf(what.to), isOn);
        break;
      case 'edgeBusCut':
        this.bus.setCut(`e${what.edge % edges}`, isOn);
        break;
      case 'island':
        this.#disturbed(nameOf(what.node));
        this.bus.setCut(nameOf(what.node), isOn);
        for (let other = 0; other < nodes; other += 1) {
          if (other !== what.node) this.network.setCut(nameOf(other), nameOf(what.node), isOn);
        }
    }
  }

  /** Lets every engine leave in good order, each when a restart that has begun is over. */
  async stop(): Promise<void> {
    for (const slot of this.#nodes) {
      while (slot.isStopping) await this.world.sleep(100);
      const { running } = slot;
      if (running === undefined) continue;
      slot.isStopping = true;
      await running.leave();
      running.process.end();
      slot.running = undefined;
    }
    for (const slot of this.#edges) {
      slot.running?.process.end();
      slot.running = undefined;
    }
  }

  #startNode(slot: Slot<SimulatedEngine>): void {
    const engine = new SimulatedEngine(this.#process(slot.name), this);
    slot.running = engine;
    slot.isStopping = false;
    engine.process.onDeath(() => {
      if (slot.running === engine) slot.running = undefined;
    });
  }

  #startEdge(slot: Slot<SimulatedEdge>): void {
    const { bus, network } = this;
    const { shardCount } = this.scenario;
    const edge = new SimulatedEdge(this.#process(slot.name), { bus, network, shardCount });
    slot.running = edge;
    edge.process.onDeath(() => {
      if (slot.running === edge) slot.running = undefined;
    });
  }

  #process(name: string): SimulatedProcess {
    this.#births += 1;
    this.world.note(`${name} starts`);
    const { skewMsMax } = this.scenario;
    const skewMs = this.world.random.between(-skewMsMax, skewMsMax);
    return new SimulatedProcess(this.world, name, skewMs);
  }

  #kill(slot: Slot<SimulatedEngine> | undefined, downMs: number): void {
    if (slot?.running === undefined) return;
    this.#disturbed(slot.name);
    slot.running.process.end();
    this.world.after(downMs, () => {
      if (slot.running === undefined) this.#startNode(slot);
    });
  }

  #restart(slot: Slot<SimulatedEngine> | undefined, downMs: number): void {
    const running = slot?.running;
    if (slot === undefined || running === undefined || slot.isStopping) return;
    this.#disturbed(slot.name);
    slot.isStopping = true;
    running.leave().then(
      () => this.#kill(slot, downMs),
      (error: unknown) => this.world.fail(error),
    );
  }

  #killEdge(slot: Slot<SimulatedEdge> | undefined, downMs: number): void {
    if (slot?.running === undefined) return;
    slot.running.process.end();
    this.world.after(downMs, () => {
      if (slot.running === undefined) this.#startEdge(slot);
    });
  }

  #pause(slot: Slot<SimulatedEngine> | undefined, how: 'stop' | 'suspend', forMs: number): void {
    const process = slot?.running?.process;
    if (slot === undefined || process === undefined) return;
    this.#disturbed(slot.name);
    process.pause(how);
    this.world.after(forMs, () => {
      this.#disturbed(slot.name);
      process.resume();
    });
  }

  #disturbed(name: string): void {
    this.#disturbedMs.set(name, this.world.nowMs);
  }

  #sealed(incarnation: string, by: string): void {
    const victim = this.#homes.get(incarnation) ?? '?';
    this.world.note(`journal of ${incarnation} (${victim}) is sealed by ${by}`);
    const running = this.#nodes.find(({ name }) => name === victim)?.running;
    const isWell = running?.process.isPaused === false;
    const sinceMs = this.#disturbedMs.get(victim) ?? Number.NEGATIVE_INFINITY;
    const calmMs = isWell ? this.world.nowMs - sinceMs : 0;
    this.seals.push({ incarnation, victim, by, calmMs });
  }
}
