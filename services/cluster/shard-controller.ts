import {
  CLAIMS_IN_FLIGHT_MAX,
  LOOK_PERIOD_MS,
  OUTAGE_GRACE_MS,
  REFUSAL_GAP_MS,
} from '#cluster/bounds';
import { cachedRing } from '#cluster/cached-ring';
import type { FailureWatch } from '#cluster/failure-watch';
import { forEachConcurrently } from '#cluster/for-each-concurrently';
import { Handoff } from '#cluster/handoff';
import type { Membership } from '#cluster/membership';
import { RebalancingThrottle } from '#cluster/rebalancing-throttle';
import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { StartupGrace } from '#cluster/startup-grace';
import { toFault } from '#fault/fault';
import { type Clock, every, sleep } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService, ShardRow, ShardStore } from '#storage/shard-store';

/** Why a shard came here or went. */
export type MoveReason = 'first' | 'takeover' | 'given' | 'handed_off';

/** What keeping shards takes. */
export type ShardControllerPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly detector: FailureWatch;
  readonly host: ShardHost;
  /** Ends this incarnation at once: its shards are somebody else's. */
  readonly fence: (why: string) => void;
  /** Whether the bus reaches others: without it nothing is claimed or released. */
  readonly isConnected: () => boolean;
  readonly onMoved: (reason: MoveReason) => void;
  readonly onBug: (error: unknown) => void;
};

/** Whose shards. */
export type ShardControllerConfig = {
  readonly service: ShardedService;
  readonly shardCount: number;
  readonly incarnation: string;
  readonly node: string;
  /** How long to listen who else is there before claiming anything, in milliseconds. */
  readonly startupGraceMs: number;
};

/**
 * Keeps what this process owns in step with the ring: claims, opens, takes over and gives up shards.
 * Level-triggered: every second it compares the ring with the table, which alone decides; heartbeats
 * and announcements only make it look sooner. One task at a time per shard (architecture 3.3, 3.4).
 */
export class ShardController implements Disposable {
  readonly #config: ShardControllerConfig;
  readonly #ports: ShardControllerPorts;
  readonly #rules: RebalancingThrottle;
  readonly #handoff: Handoff;
  readonly #rows = new Map<number, ShardRow>();
  /** The last epoch at which this incarnation opened each shard: never again at the same one. */
  readonly #opened = new Map<number, number>();
  readonly #busy = new Set<number>();
  readonly #stack = new DisposableStack();
  readonly #startupGrace: StartupGrace;
  readonly #ring: (nodes: readonly string[]) => readonly string[];
  #isLooking = false;
  #isWanted = false;
  /** Looks that have begun, and which was the last that saw the table. */
  #looks = { begun: 0, seen: 0 };

  constructor(config: ShardControllerConfig, ports: ShardControllerPorts) {
    this.#config = config;
    this.#ports = ports;
    this.#ring = cachedRing(config.shardCount);
    const { clock, members, detector } = ports;
    this.#startupGrace = new StartupGrace(config.startupGraceMs, { clock, members, detector });
    this.#rules = new RebalancingThrottle({ clock, members });
    this.#handoff = new Handoff(config, { ...ports, hasEnded: () => this.#stack.disposed });
    const wake = () => this.wake();
    this.#stack.use(every(clock, LOOK_PERIOD_MS, wake));
    this.#stack.use(members.onChange(wake));
    this.#stack.use(members.onAnnouncement(wake));
    this.#stack.use(detector.onSealed(wake));
    this.#stack.use(clock.after(OUTAGE_GRACE_MS, wake));
    this.#stack.use(clock.after(config.startupGraceMs, wake));
  }

  /** Looks at the table soon, whoever asks. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isLooking || this.#stack.disposed) return;
    this.#isLooking = true;
    this.#ports.clock.after(0, () => {
      this.#isWanted = false;
      this.#look()
        .catch((error: unknown) => this.#ports.onBug(error))
        .finally(() => {
          this.#isLooking = false;
          if (this.#isWanted) this.wake();
        });
    });
  }

  /**
   * Gives every shard to whoever the ring says without us, and fulfils when none is ours any more;
   * with nobody to give to, when all are closed and stored. The table is looked at once more first:
   * it may name us for a shard that we have not heard of. It gives up after `withinMs`, because a
   * store that is away must not hold an end up for ever, and with its incarnation.
   */
  async leave(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { clock, host } = this.#ports;
    const endMs = clock.monotonicMs() + withinMs;
    this.#rules.leave(host.open.size);
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
    const { service, shardCount } = this.#config;
    this.#looks.begun += 1;
    const look = this.#looks.begun;
    // A store that gives no answer changes nothing: the next look asks again.
    const rows = await this.#ports.shards.load(service, shardCount).catch(() => undefined);
    if (rows === undefined || this.#stack.disposed) return;
    this.#note(rows);
    this.#rules.look();
    const ring = this.#owners();
    const wanted: number[] = [];
    for (let shard = 0; shard < shardCount; shard += 1) {
      if (this.#busy.has(shard) || this.#keep(shard, this.#rows.get(shard), ring[shard])) continue;
      if (ring[shard] === this.#config.node) wanted.push(shard);
    }
    if (wanted.length > 0 && this.#mayClaim) this.#claimAll(wanted);
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

  #claimAll(wanted: readonly number[]): void {
    const unowned = wanted.filter((shard) => !this.#rows.has(shard));
    const first = (shard: number) => this.#claim(shard, undefined, 'first');
    const claimFirst = () => forEachConcurrently(unowned, CLAIMS_IN_FLIGHT_MAX, first);
    if (unowned.length > 0) this.#run(unowned, claimFirst);
    const lost = wanted.map((shard) => this.#rows.get(shard)).filter((row) => row !== undefined);
    for (const [owner, rows] of Map.groupBy(lost, (row) => row.owner)) {
      if (!this.#ports.detector.isSealed(owner)) continue;
      const numbers = rows.map(({ shard }) => shard);
      this.#run(numbers, () => this.#takeOver(owner, rows));
    }
  }

  /** The node that should own each shard: never this one while it leaves. */
  #owners(): readonly string[] {
    const nodes = this.#ports.members.present().map(({ node }) => node);
    return this.#ring(nodes.filter((node) => !this.#rules.isLeaving || node !== this.#config.node));
  }

  get #mayClaim(): boolean {
    const { detector, isConnected } = this.#ports;
    if (this.#rules.isLeaving || !isConnected() || !detector.hearsEnough) return false;
    return this.#startupGrace.isOver(this.#rows.values());
  }

  /** Deals with a shard that is ours by the table or by what is open; false if it is neither. */
  #keep(shard: number, row: ShardRow | undefined, target: string | undefined): boolean {
    const { host, fence } = this.#ports;
    const openEpoch = host.open.get(shard);
    if (openEpoch !== undefined) {
      const isOurs = row === undefined || row.epoch < openEpoch || this.#isMine(row);
      if (!isOurs || (row?.epoch ?? 0) > openEpoch) fence(`shard ${shard} has been taken`);
      else this.#considerGiving(shard, openEpoch, target);
      return true;
    }
    if (row === undefined) return false;
    if (!this.#isMine(row)) {
      host.decided(row);
      return false;
    }
    const isLeftOver = this.#rules.isLeaving && target === undefined;
    if (row.epoch > (this.#opened.get(shard) ?? 0)) this.#open(row, 'given');
    else if (!isLeftOver) this.#run([shard], () => this.#moveOn(row, target));
    return true;
  }

  #isMine({ owner }: ShardRow): boolean {
    return owner === this.#config.incarnation;
  }

  #open({ shard, epoch }: ShardClaim, reason: MoveReason): void {
    const { host, members, onMoved } = this.#ports;
    // At most once in its life (architecture 3.3): whoever closed an epoch has promised it away.
    if (epoch <= (this.#opened.get(shard) ?? 0)) return;
    this.#opened.set(shard, epoch);
    this.#rows.set(shard, { shard, epoch, owner: this.#config.incarnation });
    host.openShard({ shard, epoch });
    members.announce(shard, epoch);
    if (reason === 'given') this.#rules.arrived(shard);
    onMoved(reason);
  }

  #considerGiving(shard: number, epoch: number, target: string | undefined): void {
    const { isConnected, detector } = this.#ports;
    if (this.#rules.isLeaving) {
      const mayGo = target === undefined ? this.#rules.hasRoom : this.#rules.mayGiveUp;
      if (mayGo) this.#run([shard], () => this.#give(shard, epoch, target));
      return;
    }
    if (target === this.#config.node || target === undefined) return;
    if (!isConnected() || !detector.hearsEnough || !this.#rules.mayMove(shard, target)) return;
    this.#run([shard], () => this.#give(shard, epoch, target));
  }

  async #give(shard: number, epoch: number, target: string | undefined): Promise<void> {
    using _ = this.#rules.moving(shard);
    const to = await this.#handoff.receiverAt(target);
    if (to === undefined && !this.#rules.isLeaving) return;
    await this.#ports.host.closeShard(shard);
    if (to === undefined) return;
    const row = await this.#handoff.give({ shard, epoch, owner: this.#config.incarnation }, to);
    this.#learn(row);
  }

  /** A shard that this incarnation has closed and whose row still names it: to the target, or to us anew. */
  async #moveOn(row: ShardRow, target: string | undefined): Promise<void> {
    const isElsewhere = target !== undefined && target !== this.#config.node;
    const to = isElsewhere ? await this.#handoff.receiverAt(target) : undefined;
    if (to === undefined && this.#rules.isLeaving) return;
    this.#learn(await this.#handoff.give(row, to));
  }

  #learn(row: ShardRow): void {
    this.#rows.set(row.shard, row);
    if (this.#isMine(row)) this.#open(row, 'given');
    else this.#ports.onMoved('handed_off');
  }

  /**
   * A sealed node's shards: its records first, durable in our own journal, then the claims, then the
   * doors (architecture 3.3). Whatever fails is tried again from the table at the next look.
   */
  async #takeOver(owner: string, lost: readonly ShardRow[]): Promise<void> {
    const { clock, detector, host } = this.#ports;
    const claims = lost.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }));
    const missing = claims.filter((claim) => !host.isRecovered(claim));
    if (missing.length > 0) await host.recoverTail(owner, missing);
    // Before the claim: whoever finds our name in the row may open at once.
    while (detector.openableMs(owner) > clock.monotonicMs()) {
      if (!detector.isSealed(owner) || this.#stack.disposed) return;
      // In short steps: a proof of its death may come and end the wait.
      await sleep(clock, REFUSAL_GAP_MS);
    }
    await forEachConcurrently(lost, CLAIMS_IN_FLIGHT_MAX, (row) =>
      this.#claim(row.shard, row, 'takeover'),
    );
  }

  async #claim(shard: number, from: ShardRow | undefined, reason: MoveReason): Promise<void> {
    const { service, incarnation } = this.#config;
    if (this.#stack.disposed) return;
    const claim = { service, shard, from, owner: incarnation };
    // Without an answer nothing is decided: the next look reads what became of it.
    const outcome = await this.#ports.shards.change(claim).catch(() => undefined);
    if (outcome === undefined) return;
    const epoch = (from?.epoch ?? 0) + 1;
    const row = outcome.isApplied ? { shard, epoch, owner: incarnation } : outcome.row;
    if (row === undefined) return;
    if (this.#isMine(row)) this.#open(row, reason);
    else this.#rows.set(shard, row);
  }

  /** One task at a time per shard. */
  #run(shards: readonly number[], task: () => Promise<void>): void {
    for (const shard of shards) this.#busy.add(shard);
    task()
      .catch((error: unknown) => {
        // A store that gives no answer is no bug: the next look tries again.
        if (toFault(error).code !== 'service_unavailable') this.#ports.onBug(error);
      })
      .finally(() => {
        for (const shard of shards) this.#busy.delete(shard);
        this.wake();
      });
  }
}
