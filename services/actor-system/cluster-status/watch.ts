import type { Member } from '#cluster/membership';
import { cachedRing } from '#cluster/shard-owners';
import { Durations } from '#cluster-status/durations';
import { CallRates, loadReport } from '#cluster-status/load';
import { type Known, known, valueIn } from '#cluster-status/partial-answer';
import {
  type ClusterReport,
  type JournalReport,
  type LoadReport,
  type NodeFacts,
  type ServiceReport,
  serviceReport,
} from '#cluster-status/report';
import {
  type ClusterSnapshot,
  type Heard,
  type Hearing,
  hear,
  nodesOf,
  readAgain,
  readShardTable,
  type SeenNode,
  type ShardTable,
  snapshotOf,
} from '#cluster-status/snapshot';
import type { NodeLoad } from '#grpc/admin';
import { type Clock, sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import type { JournalHead, JournalStore } from '#storage/ports/journal';

/** Time for which a report is reused, in milliseconds. */
const FRESH_MS = 1_000;

/** Time without a query after which watching stops, in milliseconds. */
const UNWATCHED_MS = 10_000;

/** Source of reports on a cluster, or on a process outside any cluster. */
export type ClusterReporter = Disposable & {
  /** Current report, computed at most once per second for all callers. */
  report(): Promise<ClusterReport>;
};

/** Dependencies of a cluster watch, and the release of this process. */
type ClusterWatchPorts = WatchPorts & { readonly release: string };

/**
 * Watches a cluster from one of its processes. Watching lasts only while reports are requested. All
 * callers share one report, computed at most once per second. Every query for a report has its own
 * deadline. Source: decision 261.
 */
export class ClusterWatch implements ClusterReporter {
  readonly #ports: ClusterWatchPorts;
  #services: { readonly engine: WatchedService; readonly limiter: WatchedService } | undefined;
  #sinceMs = 0;
  #latest: { readonly report: Promise<ClusterReport>; readonly begunMs: number } | undefined;
  #isLooking = false;
  #idle: Disposable | undefined;

  constructor(ports: ClusterWatchPorts) {
    this.#ports = ports;
  }

  async report(): Promise<ClusterReport> {
    const { clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    this.#idle?.[Symbol.dispose]();
    this.#idle = clock.after(UNWATCHED_MS, () => this.#rest());
    const latest = this.#latest;
    if (latest !== undefined && (this.#isLooking || nowMs - latest.begunMs < FRESH_MS)) {
      return await latest.report;
    }
    this.#isLooking = true;
    const report = this.#look().finally(() => {
      this.#isLooking = false;
    });
    this.#latest = { report, begunMs: nowMs };
    return await report;
  }

  [Symbol.dispose](): void {
    this.#idle?.[Symbol.dispose]();
    this.#rest();
  }

  async #look(): Promise<ClusterReport> {
    const { clock, bus, release } = this.#ports;
    const { engine, limiter } = this.#watched();
    const [ofEngine, ofLimiter] = await Promise.all([engine.look(), limiter.look()]);
    return {
      kind: 'cluster',
      at: new Date(clock.wallMs()).toISOString(),
      release,
      watched_s: (clock.monotonicMs() - this.#sinceMs) / 1_000,
      is_bus_connected: bus.isConnected,
      engine: ofEngine,
      limiter: ofLimiter,
    };
  }

  #watched() {
    if (this.#services === undefined) {
      this.#sinceMs = this.#ports.clock.monotonicMs();
      const watch = (service: 'engine' | 'limiter') => new WatchedService(service, this.#ports);
      this.#services = { engine: watch('engine'), limiter: watch('limiter') };
    }
    return this.#services;
  }

  #rest(): void {
    this.#services?.engine[Symbol.dispose]();
    this.#services?.limiter[Symbol.dispose]();
    this.#services = undefined;
    this.#latest = undefined;
  }
}

/** Loads of the services that a process with in-memory storage runs. */
type OwnLoads = {
  readonly engine: (() => Omit<NodeLoad, 'incarnation'>) | undefined;
  readonly limiter: (() => Omit<NodeLoad, 'incarnation'>) | undefined;
};

/** Creates the reporter of a process with in-memory storage, which is outside any cluster. */
export function aloneReporter(clock: Clock, release: string, loads: OwnLoads): ClusterReporter {
  const rates = new CallRates(clock);
  return {
    async report() {
      const [engine, limiter] = [loads.engine?.(), loads.limiter?.()];
      const counted = Object.entries({ engine, limiter }).flatMap(([name, load]) =>
        load === undefined ? [] : [[name, load.calls] as const],
      );
      const perS = rates.look(new Map(counted));
      return {
        kind: 'alone',
        at: new Date(clock.wallMs()).toISOString(),
        release,
        engine: engine === undefined ? null : loadReport(engine, perS.get('engine')),
        limiter: limiter === undefined ? null : loadReport(limiter, perS.get('limiter')),
      };
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** Dependencies of a watched service. */
export type WatchPorts = Hearing & {
  readonly shards: ShardStore;
  readonly journals: Pick<JournalStore, 'readHead'>;
  /** Reads the load of a node. Rejects as `LoadAdmin.readLoad`. */
  readonly readLoad: (service: ShardedService, address: string) => Promise<NodeLoad>;
};

/**
 * Time to listen before the first report, in milliseconds. Longer than the heartbeat period of one
 * second.
 */
const LISTEN_MS = 1_200;

/**
 * Maximum wait for the store or a node, in milliseconds. Both normally answer in a few
 * milliseconds.
 */
const ANSWER_MS_MAX = 800;

/**
 * Maximum number of nodes queried for one report. In a larger cluster, facts about the other nodes
 * are reported as not known.
 */
const NODES_ASKED_MAX = 64;
/** Maximum number of concurrent queries. */
const NODES_ASKED_AT_ONCE = 16;

/** One service of a cluster, watched from outside the service. */
class WatchedService implements Disposable {
  readonly #service: ShardedService;
  readonly #ports: WatchPorts;
  readonly #durations: Durations;
  readonly #rates: CallRates;
  readonly #former = new Map<number, string>();
  #table: ShardTable | undefined;
  #readMs = 0;
  #ring: (nodes: readonly string[]) => readonly string[] = () => [];
  #heard: Heard | undefined;

  constructor(service: ShardedService, ports: WatchPorts) {
    this.#service = service;
    this.#ports = ports;
    this.#durations = new Durations(ports.clock);
    this.#rates = new CallRates(ports.clock);
  }

  /**
   * Builds the report on the service. The first report takes a little over a second. Does not
   * reject if a dependency is unavailable.
   */
  async look(): Promise<Known<ServiceReport>> {
    const fault = await this.#readTable();
    const table = this.#table;
    if (table === undefined) return { not_known: fault ?? this.#neverOwned };
    const heard = this.#heard ?? (await this.#beginToHear(table));
    const snapshot = snapshotOf(table, heard, this.#ring);
    const { clock } = this.#ports;
    return {
      value: serviceReport({
        snapshot,
        nodes: await this.#factsOf(snapshot, heard),
        tableAgeS: (clock.monotonicMs() - this.#readMs) / 1_000,
        tableFault: fault ?? null,
        durations: this.#durations,
        formerOwner: (shard) => this.#former.get(shard),
      }),
    };
  }

  [Symbol.dispose](): void {
    this.#heard?.[Symbol.dispose]();
  }

  get #neverOwned(): string {
    return `no ${this.#service} has ever owned a shard in this keyspace`;
  }

  /** Reads the table. Returns the reason if reading failed. */
  async #readTable(): Promise<string | undefined> {
    const { clock, shards } = this.#ports;
    const before = this.#table;
    const reading =
      before === undefined ? readShardTable(shards, this.#service) : readAgain(shards, before);
    const read = await known(clock, ANSWER_MS_MAX, 'the store', reading);
    if ('not_known' in read) return read.not_known;
    const table = read.value;
    if (table === undefined) return undefined;
    if (before === undefined) this.#ring = cachedRing(table.shardCount);
    this.#noteFormerOwners(before, table);
    this.#table = table;
    this.#readMs = clock.monotonicMs();
    return undefined;
  }

  #noteFormerOwners(before: ShardTable | undefined, now: ShardTable): void {
    const owners = new Map(before?.rows.map(({ shard, owner }) => [shard, owner]));
    for (const { shard, owner } of now.rows) {
      const former = owners.get(shard);
      if (former !== undefined && former !== owner) this.#former.set(shard, former);
    }
  }

  async #beginToHear(table: ShardTable): Promise<Heard> {
    this.#heard = hear(this.#ports, table);
    await sleep(this.#ports.clock, LISTEN_MS);
    return this.#heard;
  }

  async #factsOf(snapshot: ClusterSnapshot, { members }: Heard): Promise<NodeFacts[]> {
    const owners = snapshot.rows.map(({ owner }) => owner);
    const heardNow = snapshot.members.map(({ incarnation }) => incarnation);
    // Owners that are not heard come first, because operators look for them.
    const all = [...new Set(owners).difference(new Set(heardNow)), ...heardNow];
    const [heads, loads] = await Promise.all([
      asked(all, (incarnation) => this.#askHead(incarnation)),
      asked(snapshot.members, (member) => this.#askLoad(member)),
    ]);
    const rates = this.#ratesOf([...loads.values()]);
    const ofHead = (incarnation: string) => heads.get(incarnation) ?? NOT_ASKED;
    const seen = await nodesOf(snapshot, async (incarnation) => valueIn(ofHead(incarnation)));
    const loadOf = new Map([...loads].map(([{ incarnation }, load]) => [incarnation, load]));
    const remembered = new Map(members.known().map((member) => [member.incarnation, member]));
    const nowMs = this.#ports.clock.monotonicMs();
    return seen.map((node) => {
      const last = remembered.get(node.incarnation);
      return {
        // The membership remembers the name of a node that has just fallen silent.
        seen: { ...node, node: node.node ?? last?.node } satisfies SeenNode,
        silentS: last === undefined ? null : (nowMs - last.heardMs) / 1_000,
        journal: journalReport(ofHead(node.incarnation)),
        load: loadOfNode(node, loadOf.get(node.incarnation), rates),
      };
    });
  }

  #askHead(incarnation: string): Promise<Known<JournalHead | undefined>> {
    const { clock, journals } = this.#ports;
    const reading = journals.readHead(incarnation, 'quorum');
    return known(clock, ANSWER_MS_MAX, 'the store', reading);
  }

  #askLoad({ address, node }: Member): Promise<Known<NodeLoad>> {
    const { clock, readLoad } = this.#ports;
    return known(clock, ANSWER_MS_MAX, node, readLoad(this.#service, address));
  }

  #ratesOf(loads: readonly Known<NodeLoad>[]): ReadonlyMap<string, number> {
    const counted = loads.flatMap((load) => valueIn(load) ?? []);
    return this.#rates.look(new Map(counted.map(({ incarnation, calls }) => [incarnation, calls])));
  }
}

function loadOfNode(
  { incarnation }: SeenNode,
  load: Known<NodeLoad> | undefined,
  rates: ReadonlyMap<string, number>,
): Known<LoadReport> {
  if (load === undefined) return { not_known: 'it is not heard' };
  if ('not_known' in load) return load;
  const { value } = load;
  if (value.incarnation !== incarnation) return { not_known: 'another process answers there' };
  return { value: loadReport(value, rates.get(incarnation)) };
}

const NOT_ASKED = {
  not_known: `only the first ${NODES_ASKED_MAX} nodes of a service are asked`,
} as const;

/**
 * Queries the first `NODES_ASKED_MAX` items with bounded concurrency. In total this takes at most
 * four times the wait for a single answer.
 */
async function asked<Item, Value>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Known<Value>>,
): Promise<ReadonlyMap<Item, Known<Value>>> {
  const answers = new Map<Item, Known<Value>>(items.map((item) => [item, NOT_ASKED]));
  await forEachConcurrently(items.slice(0, NODES_ASKED_MAX), NODES_ASKED_AT_ONCE, async (item) => {
    answers.set(item, await ask(item));
  });
  return answers;
}

function journalReport(head: Known<JournalHead | undefined>): Known<JournalReport> {
  if ('not_known' in head) return head;
  const { value } = head;
  if (value === undefined) return { not_known: 'there is no such journal' };
  const { next, lowWaterMark, isSealed } = value;
  return { value: { slots: Math.max(0, next - lowWaterMark), next, is_sealed: isSealed } };
}
