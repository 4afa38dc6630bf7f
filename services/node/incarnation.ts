import type { Bus } from '#bus/bus';
import { checkedRoutes } from '#cluster/checked-routes';
import type { ClockWatch } from '#cluster/clock-watch';
import { FailureWatch, type Probe } from '#cluster/failure-watch';
import { JournalScan } from '#cluster/journal-scan';
import { Membership } from '#cluster/membership';
import type { SelfReport } from '#cluster/membership-options';
import { RoutingTable } from '#cluster/routing-table';
import { ShardController } from '#cluster/shard-controller';
import { shardOf } from '#cluster/shard-of';
import { Fault } from '#fault/fault';
import { APPEND_RETRY_MS, JOURNAL_BEAT_MS, LEAVE_MS_MAX } from '#node/bounds';
import { HostedShards, type ShardedHost } from '#node/hosted-shards';
import { JournalWriter } from '#node/journal-writer';
import type { NodeMetrics } from '#node/node-metrics';
import { type Clock, every, sleep } from '#platform/clock';
import { CommitLog } from '#runtime/commit-log';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService, ShardStore } from '#storage/shard-store';

/** A node's place in its cluster. */
export type NodeConfig = {
  readonly service: ShardedService;
  /** Stable name, which places the node on the ring. */
  readonly node: string;
  /** `host:port` of its gRPC server. */
  readonly address: string;
  readonly shardCount: number;
  /** First part of all subjects on the bus, and the id of the cluster that may speak there. */
  readonly prefix: string;
  readonly cluster: string;
  /** How long to listen who else is there before claiming anything, in milliseconds. */
  readonly startupGraceMs: number;
  /** Whether addresses lead straight to processes, with no proxy or NAT between. */
  readonly isDirect: boolean;
};

/** What a node needs of its process. */
export type NodePorts = {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly probe: Probe;
  /** Compares the wall clock with those of others; undefined where there are none. */
  readonly clocks?: Pick<ClockWatch, 'isAside' | 'verdict'> | undefined;
  readonly metrics: NodeMetrics;
  /** Called with what should not be possible, for the process's log. */
  readonly onBug: (error: unknown) => void;
  /** A line for the operator about what should not happen often. */
  readonly onNotice: (notice: string) => void;
};

/** What the actors of one incarnation stand on. */
export type NodeContext = {
  readonly log: CommitLog;
  readonly gate: HostedShards;
  readonly routes: RoutingTable;
};

/** The hosts of an incarnation's actors, and whatever serves them. */
export type HostedServices<Served> = {
  readonly served: Served;
  readonly hosts: readonly (ShardedHost & { abandon(): void })[];
  readonly end: () => void;
};

/**
 * One life of a node: its journal, its place in the view, its shards and their actors. It ends when
 * somebody seals its journal, or when its process gives everything up (architecture 3).
 */
export class Incarnation<Served> {
  readonly id: string;
  readonly served: Served;
  /** Fulfils with the reason when this life has ended against its will. */
  readonly fenced: Promise<Error>;
  readonly #config: NodeConfig;
  readonly #ports: NodePorts;
  readonly #members: Membership;
  readonly #keeper: ShardController;
  readonly #gate: HostedShards;
  readonly #stack = new DisposableStack();
  readonly #startedAtMs: number;
  #isLeaving = false;

  /** The incarnation's journal must have begun. */
  constructor(
    id: string,
    config: NodeConfig,
    ports: NodePorts,
    hostServices: (context: NodeContext) => HostedServices<Served>,
  ) {
    this.id = id;
    this.#config = config;
    this.#ports = ports;
    const { clock, journals, metrics, onBug } = ports;
    this.#startedAtMs = clock.wallMs();
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.fenced = promise;
    const writer = new JournalWriter(id, {
      store: journals,
      clock,
      onAppended: metrics.appended,
      onFenced: (why) => {
        log.end(why);
        this.#end();
        resolve(why);
      },
    });
    const log = new CommitLog(writer, clock);
    this.#members = this.#stack.use(this.#joined());
    const routes = this.#stack.use(
      new RoutingTable({ members: this.#members, shardCount: config.shardCount, clock }),
    );
    this.#gate = new HostedShards({
      log,
      journals,
      clock,
      shardOf: (actorId) => shardOf(actorId, config.shardCount),
      ownerOf: (shard) => routes.ownerOf(shard),
      onTailRecovered: (records, from) => {
        metrics.tailRecovered(records);
        ports.onNotice(`taking over from ${from}: ${records} records`);
      },
      onTakenOver: metrics.takenOver,
    });
    const hosted = hostServices({ log, gate: this.#gate, routes });
    this.served = hosted.served;
    for (const host of hosted.hosts) this.#gate.attach(host);
    this.#stack.defer(() => {
      for (const host of hosted.hosts) host.abandon();
      hosted.end();
    });
    this.#stack.use(new JournalScan(id, ports));
    const detector = this.#stack.use(this.#watch(() => writer.takeSlowestMs()));
    this.#keeper = this.#stack.use(
      new ShardController(
        { ...config, incarnation: id },
        {
          ...ports,
          shards: checkedRoutes(ports.shards, routes, clock),
          members: this.#members,
          detector,
          host: this.#gate,
          fence: (why) => writer.fence(why),
          isConnected: () => ports.bus.isConnected,
          onMoved: metrics.moved,
          onBug,
        },
      ),
    );
    this.#stack.use(every(clock, JOURNAL_BEAT_MS / 4, () => log.beat(JOURNAL_BEAT_MS * 0.75)));
    log.beat(0);
    this.#members.beat();
    this.#keeper.wake();
  }

  /** The shards that are served here, with their epochs. */
  get shards(): ReadonlyMap<number, number> {
    return this.#gate.open;
  }

  /**
   * Begins to give every shard to others and takes none from now on; it does not end. Throws
   * `conflict` when nobody else is there, because nobody would answer for the shards then.
   */
  drain(): void {
    if (this.#isLeaving) return;
    const present = this.#members.present();
    if (present.every(({ incarnation }) => incarnation === this.id)) {
      throw new Fault('conflict', 'there is no other node to take its shards');
    }
    this.#isLeaving = true;
    this.#members.beat();
    this.#keeper.leave().catch(this.#ports.onBug);
  }

  /** Gives every shard up, to others or to the stores, and ends. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#members.beat();
    // What is not stored by then stands in the journal, for whoever takes over.
    await this.#keeper.leave(LEAVE_MS_MAX);
    this.#members.beat();
    // Nothing may ever follow; a store that gives no answer leaves that to the daily scan.
    await this.#ports.journals.seal(this.id).catch(() => undefined);
    this.#end();
  }

  #end(): void {
    this.#gate.end();
    this.#stack.dispose();
  }

  #joined(): Membership {
    const { bus, clock, journals, onNotice } = this.#ports;
    const { cluster, prefix, service } = this.#config;
    const self = () => this.#report();
    const onForeignCluster = (stranger: { cluster: string }) =>
      onNotice(`another cluster (${stranger.cluster}) speaks under our subjects and is ignored`);
    const onImpostor = ({ incarnation }: { incarnation: string }) =>
      onNotice(`a process speaks for ${incarnation}, which it is not, and is ignored there`);
    const told = { onForeignCluster, onImpostor };
    return new Membership({ bus, clock, journals, cluster, prefix, service, self, ...told });
  }

  #report(): SelfReport {
    const { node, address } = this.#config;
    return {
      node,
      incarnation: this.id,
      address,
      startedAtMs: this.#startedAtMs,
      isLeaving: this.#isLeaving,
      isAside: this.#ports.clocks?.isAside,
      shardCount: this.#config.shardCount,
      shards: [...this.#gate.open],
    };
  }

  #watch(takeSlowestAppendMs: () => number): FailureWatch {
    const { metrics, onNotice } = this.#ports;
    const ports = { ...this.#ports, members: this.#members, takeSlowestAppendMs };
    return new FailureWatch(
      { ...this.#config, incarnation: this.id },
      {
        ...ports,
        onSealed: (context, other) => {
          metrics.sealed(context);
          onNotice(`sealed the journal of ${other}, which is ${context}`);
        },
      },
    );
  }
}

/**
 * Begins a journal for an incarnation, again and again until the store answers; a try of our own
 * that seemed to fail counts. Rejects when the id is taken.
 */
export async function beginJournal(
  id: string,
  { address }: NodeConfig,
  { journals, clock }: Pick<NodePorts, 'journals' | 'clock'>,
  hasEnded: () => boolean,
): Promise<void> {
  while (!hasEnded()) {
    const begun = await journals.begin(id, address).catch(() => undefined);
    if (begun?.isApplied) return;
    const head = begun?.head;
    if (head?.address === address && head.next === 0 && !head.isSealed) return;
    if (begun !== undefined) throw new Error(`there is a journal of ${id} already`);
    await sleep(clock, APPEND_RETRY_MS);
  }
}
