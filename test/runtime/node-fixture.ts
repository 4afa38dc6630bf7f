import { inProcessBus } from '#bus/in-process-bus';
import type { Probe } from '#cluster/death-watch';
import { createMetrics } from '#platform/metrics';
import { ActorHost } from '#runtime/actor-host';
import { DurableNode } from '#runtime/durable-node';
import type { Ground } from '#runtime/incarnation';
import { nodeMetrics } from '#runtime/node-metrics';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import type { JournalStore } from '#storage/journal-store';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { memoryShardStore } from '#storage/memory/memory-shard-store';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { type Tally, type TallyAnswer, TallyKind, tallyCall } from '#test/support/tally-actor';

const SHARDS = 8;

type TallyHost = ActorHost<Tally, Parameters<TallyKind['receive']>[1], TallyAnswer, number>;
type TallyNode = DurableNode<TallyHost>;

/** Nodes that serve tallies from common stores, on one bus and one clock. */
export class TallyCluster {
  readonly clock = new ManualClock();
  readonly bugs: unknown[] = [];
  readonly notices: string[] = [];
  readonly shards = memoryShardStore();
  readonly stored = memoryJournalStore(this.clock);
  /** What nodes see of the journals; a test may put its own in. */
  journals: JournalStore = this.stored;
  /** One store, whichever node writes. */
  readonly kind = new TallyKind();
  readonly #bus = inProcessBus({ clock: this.clock, onBug: (e) => this.bugs.push(e) });
  readonly #nodes = new Map<string, TallyNode>();
  #lives = 0;

  /** A node by this name, and its address `name:1`. Its lives are `life-1`, `life-2` … */
  async join(name: string): Promise<TallyNode> {
    const config = {
      service: 'engine' as const,
      node: name,
      address: `${name}:1`,
      shardCount: SHARDS,
      prefix: 'test',
      cluster: 'c',
      settleMs: 0,
      isDirect: true,
    };
    const ports = {
      clock: this.clock,
      bus: this.#bus,
      journals: this.journals,
      shards: this.shards,
      probe: this.#probe,
      metrics: nodeMetrics(createMetrics(), 'engine'),
      randomness: { hex: () => this.#nextId(), base62: () => this.#nextId() },
      onBug: (error: unknown) => this.bugs.push(error),
      onNotice: (notice: string) => this.notices.push(notice),
    };
    const node = await DurableNode.join(config, ports, (ground) => this.#settle(ground));
    this.#nodes.set(`${name}:1`, node);
    return node;
  }

  /** Adds to a tally and answers what it then is; a `callId` makes it a retry of an earlier call. */
  async add(node: TallyNode, id: string, callId?: number): Promise<TallyAnswer> {
    const fields = callId === undefined ? { add: 1 } : { add: 1, callId };
    const answer = Promise.try(() => node.current?.served.ask(id, tallyCall(fields)));
    // A timer of a failed call is nobody's business.
    answer.catch(() => undefined);
    await pass(this.clock, 20, 5);
    const answered = await answer;
    if (answered === undefined) throw new Error('the node has no life at the moment');
    return answered;
  }

  async live(durationMs: number): Promise<void> {
    await pass(this.clock, durationMs, 50);
  }

  readonly #probe: Probe = async (address) => {
    const node = this.#nodes.get(address);
    if (node === undefined) return { kind: 'refused' };
    return { kind: 'answered', incarnation: node.current?.id ?? 'nobody' };
  };

  #nextId(): string {
    this.#lives += 1;
    return `life-${this.#lives}`;
  }

  #settle({ log, gate }: Ground) {
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
    return { served: host, hosts: [host], end: () => undefined };
  }
}
