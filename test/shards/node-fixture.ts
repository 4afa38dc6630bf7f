import { ActorHost } from '#actor-runtime/actor-host';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import type { Bus } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import { decodeHeartbeat, type Heartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Dial } from '#cluster/lifelines';
import { ClusterNode, type ClusterNodePorts } from '#shards/cluster-node';
import { nodeMetrics } from '#shards/journal-writer';
import type { NodeContext } from '#shards/node-context';
import type { Clock } from '#stdlib/clock';
import type { JournalStore } from '#storage/ports/journal';
import { createMetrics, type Metrics } from '#telemetry/metrics';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { memoryShardStore } from '#test/storage/memory/shard-store';
import { FakeLifelines } from '#test/support/fake-lifelines';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { scrapedOf } from '#test/support/scraped';
import { type Tally, type TallyAnswer, TallyKind, tallyCall } from '#test/support/tally-actor';
import { noteLogger } from '#test/support/test-logger';

const SHARDS = 8;

type TallyHost = ActorHost<Tally, Parameters<TallyKind['receive']>[1], TallyAnswer, number>;
export type TallyNode = ClusterNode<TallyHost>;

/** Ports of a node that differ from the ports of other nodes. */
export type Unlike = Partial<Pick<ClusterNodePorts, 'bus' | 'clock' | 'clocks'>> & {
  readonly cluster?: string;
  readonly startupGraceMs?: number;
  readonly features?: readonly string[];
};

/** Nodes that serve tallies from common stores, on one bus and one clock. */
export class TallyCluster {
  readonly clock = new ManualClock();
  readonly bugs: unknown[] = [];
  readonly notices: string[] = [];
  readonly shards = memoryShardStore();
  readonly stored = memoryJournalStore(this.clock);
  /** The journals that nodes use. A test may replace them. */
  journals: JournalStore = this.stored;
  /** One store for all nodes. */
  readonly kind = new TallyKind();
  /** Context of the last incarnation of each node, by address. */
  readonly contexts = new Map<string, NodeContext>();
  /** Every heartbeat, in the order of arrival. */
  readonly heartbeats: Heartbeat[] = [];
  /** Number of incarnations that have ended their hosted services. */
  servicesEnded = 0;
  readonly bus = inProcessBus({ clock: this.clock, onBug: (e) => this.bugs.push(e) });
  readonly #nodes = new Map<string, TallyNode>();
  readonly #metrics = new Map<string, Metrics>();
  readonly #dead = new Set<string>();
  #lives = 0;

  constructor() {
    this.bus.subscribe(heartbeatSubject('test', 'engine'), (message) => {
      const heartbeat = decodeHeartbeat(message);
      if (heartbeat !== undefined) this.heartbeats.push(heartbeat);
    });
  }

  /** Adds a node with the address `name:1`. Its incarnations are `life-1`, `life-2` … */
  async join(name: string, unlike: Unlike = {}): Promise<TallyNode> {
    const metrics = createMetrics();
    this.#metrics.set(name, metrics);
    const config = {
      service: 'engine' as const,
      name,
      shardCount: SHARDS,
      prefix: 'test',
      cluster: unlike.cluster ?? 'c',
      startupGraceMs: unlike.startupGraceMs ?? 0,
      isDirect: true,
      features: unlike.features,
    };
    const ports = {
      clock: unlike.clock ?? this.#clockOf(name),
      bus: unlike.bus ?? this.busOf(name),
      clocks: unlike.clocks,
      journals: this.journals,
      shards: this.shards,
      dial: this.#dial,
      metrics: nodeMetrics(metrics, 'engine'),
      randomness: { hex: () => this.#nextId(), base62: () => this.#nextId() },
      onBug: (error: unknown) => this.bugs.push(error),
      logger: noteLogger((notice) => void this.notices.push(notice)),
    };
    const node: TallyNode = new ClusterNode(config, ports, (context) => this.#host(context));
    await node.join(`${name}:1`);
    this.#nodes.set(`${name}:1`, node);
    return node;
  }

  /** Ends the process of a node immediately. Its name must not be used again. */
  kill(name: string): void {
    this.#dead.add(name);
    this.#nodes.delete(`${name}:1`);
    this.#lifelines.end(`${name}:1`);
  }

  isDead(name: string): boolean {
    return this.#dead.has(name);
  }

  /** Metrics of a node's process whose names match. */
  async reported(name: string, series: RegExp): Promise<Record<string, number>> {
    const metrics = this.#metrics.get(name);
    if (metrics === undefined) throw new Error(`there is no node ${name}`);
    return await scrapedOf(metrics, series);
  }

  /** Adds to a tally and returns the new value. A repeated `callId` makes the call a retry. */
  async add(node: TallyNode, id: string, callId?: number): Promise<TallyAnswer> {
    const fields = callId === undefined ? { add: 1 } : { add: 1, callId };
    const answer = Promise.try(() => node.current?.served.ask(id, tallyCall(fields)));
    // A rejection is awaited below.
    answer.catch(() => undefined);
    await pass(this.clock, 20, 5);
    const answered = await answer;
    if (answered === undefined) throw new Error('the node has no incarnation at the moment');
    return answered;
  }

  async live(durationMs: number): Promise<void> {
    await pass(this.clock, durationMs, 50);
  }

  readonly #lifelines = new FakeLifelines();
  readonly #dial: Dial = async (address) => {
    const node = this.#nodes.get(address);
    if (node === undefined) return { kind: 'refused' };
    return this.#lifelines.identified(address, node.current?.id ?? 'none');
  };

  /** Clock of a process: no timer fires after the end of the process. */
  #clockOf(name: string): Clock {
    const { clock } = this;
    return {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, task) => clock.after(delayMs, () => this.#dead.has(name) || task()),
    };
  }

  /** Bus of a process: it neither sends nor receives after the end of the process. */
  busOf(name: string): Bus {
    const { bus } = this;
    return {
      isConnected: true,
      publish: (...message) => this.#dead.has(name) || bus.publish(...message),
      subscribe: (subject, hear) =>
        bus.subscribe(subject, (message) => this.#dead.has(name) || hear(message)),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  #nextId(): string {
    this.#lives += 1;
    return `life-${this.#lives}`;
  }

  #host(context: NodeContext) {
    const { address, log, gate } = context;
    this.contexts.set(address, context);
    const metrics = runtimeMetrics(createMetrics(), 'engine', 'instance');
    const onBug = (error: unknown) => this.bugs.push(error);
    const config = { idleAgeMs: 60_000, memoryBytesMax: 1_000_000 };
    const host: TallyHost = new ActorHost(this.kind, config, {
      clock: this.clock,
      log,
      gate,
      metrics,
      onBug,
    });
    const end = () => {
      this.servicesEnded += 1;
    };
    return { served: host, hosts: [host], end };
  }
}
