import { LOOK_PERIOD_MS, OUTAGE_GRACE_MS } from '#cluster/failover-timing';
import type { FailureWatch } from '#cluster/failure-watch';
import type { Membership } from '#cluster/membership';
import { Handoff, ShardClaims, type TakeOver } from '#cluster/shard-claims';
import type { OwnerConfig, ShardHost } from '#cluster/shard-host';
import { cachedRing } from '#cluster/shard-owners';
import {
  planShards,
  RebalancingThrottle,
  ringNodes,
  type ShardAction,
  type ShardFacts,
} from '#cluster/shard-planner';
import { toFault } from '#errors/fault';
import { type Clock, every, sleep } from '#stdlib/clock';
import type { ShardRow, ShardStore } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** Reasons for opening a shard here or handing it off. */
export const MOVE_REASONS = ['first', 'takeover', 'given', 'handed_off'] as const;

/** Reason for opening a shard here or handing it off. */
export type MoveReason = (typeof MOVE_REASONS)[number];

/** Dependencies of the shard controller. */
type ShardControllerPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly detector: FailureWatch;
  readonly host: ShardHost;
  /** Ends this incarnation immediately, because one of its shards has another owner. */
  readonly fence: (why: string) => void;
  /**
   * Whether the bus is connected. While the bus is disconnected, this node claims and releases
   * nothing.
   */
  readonly isConnected: () => boolean;
  readonly onMoved: (reason: MoveReason) => void;
  readonly onTakenOver: (outcome: TakeOver) => void;
  readonly onBug: (error: unknown) => void;
};

/** Identity of the owner, and shard settings of its service. */
type ShardControllerConfig = OwnerConfig & {
  readonly shardCount: number;
  readonly node: string;
  /** Time to listen for other nodes after the start before claiming shards, in milliseconds. */
  readonly startupGraceMs: number;
};

/** Planned action of one kind. */
type Planned<Kind extends ShardAction['kind']> = Extract<ShardAction, { kind: Kind }>;

/**
 * Reconciles the shards of this process with the ring. The controller is level-triggered: every
 * second it reads the shard table, the only authority, and executes the planner's actions.
 * Heartbeats and announcements only trigger an earlier read. At most one task runs per shard
 * (architecture 3.3, 3.4).
 */
export class ShardController implements Disposable {
  readonly #config: ShardControllerConfig;
  readonly #ports: ShardControllerPorts;
  readonly #throttle = new RebalancingThrottle();
  readonly #handoff: Handoff;
  readonly #claims: ShardClaims;
  readonly #rows = new Map<number, ShardRow>();
  /** Last epoch at which this incarnation opened each shard. An epoch is opened at most once. */
  readonly #opened = new Map<number, number>();
  readonly #busy = new Set<number>();
  /** Shards that are closing and whose actors may still send to other actors. */
  readonly #sending = new Set<number>();
  readonly #stack = new DisposableStack();
  readonly #startedMs: number;
  readonly #ring: (nodes: readonly string[]) => readonly string[];
  #isLooking = false;
  #isLookRequested = false;
  /** Number of table reads begun, and the number of the last read that succeeded. */
  #looks = { begun: 0, seen: 0 };

  constructor(config: ShardControllerConfig, ports: ShardControllerPorts) {
    this.#config = config;
    this.#ports = ports;
    this.#ring = cachedRing(config.shardCount);
    const { clock, shards, journals, members, detector, host } = ports;
    this.#startedMs = clock.monotonicMs();
    const hasEnded = () => this.#stack.disposed;
    this.#handoff = new Handoff(config, { clock, shards, journals, members, host, hasEnded });
    this.#claims = new ShardClaims(config, {
      clock,
      shards,
      detector,
      host,
      hasEnded,
      onClaimed: (row, reason) => this.#learn(row, reason),
      onTakenOver: ports.onTakenOver,
    });
    const wake = () => this.wake();
    this.#stack.use(every(clock, LOOK_PERIOD_MS, wake));
    this.#stack.use(members.onChange(wake));
    this.#stack.use(members.onAnnouncement(wake));
    this.#stack.use(detector.onSealed(wake));
    this.#stack.use(clock.after(OUTAGE_GRACE_MS, wake));
    this.#stack.use(clock.after(config.startupGraceMs, wake));
  }

  /**
   * Schedules a read of the table and the actions that follow from it. Requests before that read
   * are merged.
   */
  wake(): void {
    this.#isLookRequested = true;
    if (this.#isLooking || this.#stack.disposed) return;
    this.#isLooking = true;
    this.#ports.clock.after(0, () => {
      this.#isLookRequested = false;
      this.#look()
        .catch((error: unknown) => this.#ports.onBug(error))
        .finally(() => {
          this.#isLooking = false;
          if (this.#isLookRequested) this.wake();
        });
    });
  }

  /**
   * Hands every shard to the node that owns it on a ring without this node. Fulfils when no shard
   * is left here. Without another node, fulfils when all shards are closed and stored.
   *
   * Reads the table again first, because the table may name this incarnation for a recently
   * assigned shard. Fulfils after `withinMs` milliseconds at the latest, so that an unavailable
   * store does not block the shutdown. Also fulfils when the controller is disposed.
   */
  async leave(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { clock, host } = this.#ports;
    const endMs = clock.monotonicMs() + withinMs;
    this.#throttle.leave(host.open.size, clock.monotonicMs());
    const { begun } = this.#looks;
    while (host.open.size > 0 || this.#busy.size > 0 || this.#looks.seen <= begun) {
      if (this.#stack.disposed || clock.monotonicMs() >= endMs) return;
      this.wake();
      await sleep(clock, LOOK_PERIOD_MS / 20);
    }
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }

  async #look(): Promise<void> {
    const { shards, members, clock } = this.#ports;
    const { service, shardCount } = this.#config;
    this.#looks.begun += 1;
    const look = this.#looks.begun;
    // If the store does not answer, nothing changes and the next read retries.
    const rows = await shards.load(service, shardCount).catch(() => undefined);
    if (rows === undefined || this.#stack.disposed) return;
    this.#note(rows);
    const nowMs = clock.monotonicMs();
    this.#throttle.look(members.viewHash, members.present(), nowMs);
    for (const action of planShards(this.#facts(), nowMs)) this.#execute(action);
    this.#looks.seen = look;
  }

  #note(rows: readonly ShardRow[]): void {
    for (const row of rows) {
      if (row.epoch >= (this.#rows.get(row.shard)?.epoch ?? 0)) this.#rows.set(row.shard, row);
    }
    const owners = new Set([...this.#rows.values()].map(({ owner }) => owner));
    owners.delete(this.#config.incarnation);
    this.#ports.detector.watch(owners);
  }

  #facts(): ShardFacts {
    const { members, detector, host, isConnected } = this.#ports;
    const present = members.present();
    return {
      self: this.#config,
      shardCount: this.#config.shardCount,
      rows: this.#rows,
      ring: this.#ring(ringNodes(present, this.#config.node, this.#throttle.isLeaving)),
      held: { open: host.open, opened: this.#opened, busy: this.#busy },
      view: {
        startedMs: this.#startedMs,
        startupGraceMs: this.#config.startupGraceMs,
        present: new Set(present.map(({ incarnation }) => incarnation)),
        isSealed: (incarnation) => detector.isSealed(incarnation),
        isConnected: isConnected(),
        hearsEnough: detector.hearsEnough,
      },
      throttle: this.#throttle,
    };
  }

  #execute(action: ShardAction): void {
    const { host, fence } = this.#ports;
    switch (action.kind) {
      case 'fence':
        fence(`another node has taken shard ${action.shard}`);
        break;
      case 'decided':
        host.decided(action.row);
        break;
      case 'open':
        this.#open(action.row, 'given');
        break;
      case 'give':
        this.#run([action.shard], () => this.#give(action));
        break;
      case 'moveOn':
        this.#run([action.row.shard], () => this.#moveOn(action));
        break;
      case 'claimFirst':
        this.#run(action.shards, () => this.#claims.claimFirst(action.shards));
        break;
      case 'takeOver': {
        const { owner, rows } = action;
        const shards = rows.map(({ shard }) => shard);
        this.#run(shards, () => this.#claims.takeOver(owner, rows));
      }
    }
  }

  #open({ shard, epoch }: ShardRow, reason: MoveReason): void {
    const { host, members, clock, onMoved } = this.#ports;
    // At most once per epoch, because a closed epoch may already belong to another node
    // (architecture 3.3).
    if (epoch <= (this.#opened.get(shard) ?? 0)) return;
    this.#opened.set(shard, epoch);
    this.#rows.set(shard, { shard, epoch, owner: this.#config.incarnation });
    host.openShard({ shard, epoch });
    members.announce(shard, epoch);
    if (reason === 'given') this.#throttle.arrived(shard, clock.monotonicMs());
    onMoved(reason);
  }

  async #give({ shard, epoch, target }: Planned<'give'>): Promise<void> {
    using moving = new DisposableStack();
    moving.use(this.#throttle.moving(shard, this.#ports.clock.monotonicMs()));
    const to = await this.#handoff.receiverAt(target);
    if (to === undefined && !this.#throttle.isLeaving) return;
    this.#sending.add(shard);
    moving.defer(() => this.#sending.delete(shard));
    await this.#ports.host.closeShard(shard, async () => {
      if (to !== undefined) return;
      // No other node can take what the remaining shards send, so this shard takes it.
      moving.dispose();
      await this.#othersSent();
    });
    if (to === undefined) return;
    const row = { shard, epoch, owner: this.#config.incarnation };
    this.#learn(await this.#handoff.give(row, to), 'given');
  }

  /** Fulfils when no shard of this node can send any more, or when the controller is disposed. */
  async #othersSent(): Promise<void> {
    const { clock, host } = this.#ports;
    while (host.open.size > 0 || this.#sending.size > 0) {
      if (this.#stack.disposed) return;
      await sleep(clock, LOOK_PERIOD_MS / 20);
    }
  }

  async #moveOn({ row, target }: Planned<'moveOn'>): Promise<void> {
    const to = await this.#handoff.receiverAt(target);
    if (to === undefined && this.#throttle.isLeaving) return;
    this.#learn(await this.#handoff.give(row, to), 'given');
  }

  /** Applies a decided change of a shard's owner. */
  #learn(row: ShardRow, reason: MoveReason): void {
    if (row.owner === this.#config.incarnation) {
      this.#open(row, reason);
      return;
    }
    this.#rows.set(row.shard, row);
    if (reason === 'given') this.#ports.onMoved('handed_off');
  }

  /** Runs a task and marks its shards as busy, so that at most one task runs per shard. */
  #run(shards: readonly number[], task: () => Promise<void>): void {
    for (const shard of shards) this.#busy.add(shard);
    task()
      .catch((error: unknown) => {
        // An unavailable store is not a bug. The next read retries.
        if (toFault(error).code !== 'service_unavailable') this.#ports.onBug(error);
      })
      .finally(() => {
        for (const shard of shards) this.#busy.delete(shard);
        this.wake();
      });
  }
}
