import type { CommitLog } from '#actor-runtime/commit-log';
import type { RecoveredTail, ServedUntil, ShardGate } from '#actor-runtime/host-ports';
import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { faultFor, type ShardOwner } from '#errors/fault';
import {
  CLOSE_POLL_MS,
  EAGER_ACTORS,
  EAGER_DELAY_MS,
  EAGER_FRUITLESS_MAX,
  EAGER_PERIOD_MS,
  EAGER_STUCK_MS,
  EFFECT_RETRY_MS,
} from '#shards/journal-bounds';
import type { RecoveredRecords, TailRecovery } from '#shards/tail-recovery';
import { type Clock, sleep } from '#stdlib/clock';

/** Methods of an actor host that are used to open and close shards. */
export interface ShardedHost extends EagerHost {
  readonly servedUntil: ServedUntil;
  busyIn(shard: number): number;
  whenSent(shard: number): Promise<void>;
  storeAhead(shard: number): Promise<void>;
  closeShard(shard: number): void;
  storeShard(shard: number): Promise<void>;
  dropShard(shard: number): void;
}

type HostedShardsParts = {
  readonly hosts: readonly ShardedHost[];
  readonly open: OpenShards;
  readonly recovered: RecoveredRecords;
  readonly recovery: TailRecovery;
  readonly eager: EagerActivation;
  readonly log: CommitLog;
  readonly clock: Clock;
  /** Called when calls for a shard are accepted. */
  readonly onOpened?: ((shard: number) => void) | undefined;
};

/**
 * Shards of one incarnation: opens and closes each shard for all kinds of actor together
 * (architecture 3.3, 3.4).
 */
export class HostedShards implements ShardHost {
  readonly #parts: HostedShardsParts;

  constructor(parts: HostedShardsParts) {
    this.#parts = parts;
  }

  get open(): ReadonlyMap<number, number> {
    return this.#parts.open.epochs;
  }

  isRecovered({ shard, epoch }: ShardClaim): boolean {
    return this.#parts.recovered.isHeld(shard, epoch);
  }

  async recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    await this.#parts.recovery.recover(incarnation, claims);
  }

  openShard(claim: ShardClaim): void {
    const { open, recovery, eager, onOpened } = this.#parts;
    if (open.hasEnded) return;
    recovery.opened(claim);
    open.open(claim);
    eager.begin();
    onOpened?.(claim.shard);
  }

  decided({ shard, epoch }: ShardClaim): void {
    this.#parts.recovered.decide(shard, epoch);
  }

  releasing(shard: number): void {
    this.#parts.open.release(shard);
  }

  async closeShard(
    shard: number,
    whenLast: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const { eager, hosts, open } = this.#parts;
    // Callers wait while the shard is closed, so most actors are stored before it closes. A shard
    // with corrupt records never closes: it keeps serving every actor without such records.
    await eager.activateAll(shard);
    await this.#untilSent(shard);
    for (const host of hosts) await host.storeAhead(shard);
    open.close(shard);
    await this.#settle(shard, 'closing');
    await whenLast();
    // The actors that are stored now send nothing to other actors. Two closing shards therefore
    // never wait for each other.
    open.closeLast(shard);
    await this.#settle(shard, 'closed');
    for (const host of hosts) host.dropShard(shard);
  }

  /** While a receiver cannot be reached, the shard keeps serving instead of closing. */
  async #untilSent(shard: number): Promise<void> {
    const { clock, hosts, log } = this.#parts;
    for (;;) {
      try {
        for (const host of hosts) await host.whenSent(shard);
        return;
      } catch {
        log.assertAlive();
        await sleep(clock, EFFECT_RETRY_MS);
      }
    }
  }

  /** Waits until the actors of a phase are idle, then stores them. */
  async #settle(shard: number, phase: ServedUntil): Promise<void> {
    const { clock, log } = this.#parts;
    const hosts = this.#parts.hosts.filter(({ servedUntil }) => servedUntil === phase);
    while (hosts.some((host) => host.busyIn(shard) > 0)) {
      await sleep(clock, CLOSE_POLL_MS);
      log.assertAlive();
    }
    await this.#storeAll(shard, hosts);
  }

  /** Closes every shard immediately and stores nothing, because this incarnation has ended. */
  end(): void {
    this.#parts.open.end();
  }

  /** Stores all actors of these hosts in a closed shard, with retries until every write succeeds. */
  async #storeAll(shard: number, hosts: readonly ShardedHost[]): Promise<void> {
    const { clock, log } = this.#parts;
    for (;;) {
      try {
        for (const host of hosts) host.closeShard(shard);
        await log.whenDurable(log.added);
        for (const host of hosts) await host.storeShard(shard);
        return;
      } catch {
        log.assertAlive();
        await sleep(clock, EFFECT_RETRY_MS);
      }
    }
  }
}

type NodeGateParts = {
  readonly open: OpenShards;
  readonly recovered: RecoveredRecords;
  readonly shardOf: (actorId: string) => number;
  /** Owner of a shard in this node's view, named in the refusal. */
  readonly ownerOf: (shard: number) => ShardOwner | undefined;
  /** Called for every call that this node refuses because it is not the owner. */
  readonly onNotOwner: () => void;
};

/** Gate of one incarnation: admits calls for the actors of its open shards. */
export class NodeGate implements ShardGate {
  readonly #parts: NodeGateParts;

  constructor(parts: NodeGateParts) {
    this.#parts = parts;
  }

  shardOf(actorId: string): number {
    return this.#parts.shardOf(actorId);
  }

  assertOpen(shard: number, until: ServedUntil = 'closing'): void {
    if (this.#parts.open.has(shard, until)) return;
    this.#parts.onNotOwner();
    const owner = this.#parts.ownerOf(shard);
    throw faultFor('not_owner', 'another node owns this shard', { retryAfterS: 1, owner });
  }

  isClosing(shard: number): boolean {
    return this.#parts.open.isClosing(shard);
  }

  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined {
    return this.#parts.recovered.tailOf(shard, actor, actorId);
  }

  activated(shard: number, actor: string, actorId: string): void {
    this.#parts.recovered.activated(shard, actor, actorId);
  }
}

/** Shards that an incarnation serves, with their epochs, and the shards that it is closing. */
export class OpenShards {
  readonly #epochs = new Map<number, number>();
  readonly #closing = new Set<number>();
  /** Closing shards whose last actors still serve. */
  readonly #closingLast = new Set<number>();
  #hasEnded = false;

  /** Epochs of all served shards, by shard. */
  get epochs(): ReadonlyMap<number, number> {
    return this.#epochs;
  }

  /** Whether calls for the shard are accepted, by actors that serve until this phase. */
  has(shard: number, until: ServedUntil = 'closing'): boolean {
    return this.#epochs.has(shard) || (until === 'closed' && this.#closingLast.has(shard));
  }

  /** Whether the shard is closing, or closed and not yet released to another node. */
  isClosing(shard: number): boolean {
    return this.#closing.has(shard);
  }

  /** Whether the incarnation has ended. After the end no shard may open. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Accepts calls for the shard from now on. */
  open({ shard, epoch }: ShardClaim): void {
    this.#closing.delete(shard);
    this.#epochs.set(shard, epoch);
  }

  /** Refuses calls for the shard from now on, except for the actors that serve until `closed`. */
  close(shard: number): void {
    this.#epochs.delete(shard);
    this.#closing.add(shard);
    this.#closingLast.add(shard);
  }

  /** Refuses the remaining calls for a closing shard from now on. */
  closeLast(shard: number): void {
    this.#closingLast.delete(shard);
  }

  /** Releases the closed shard: another node may own it from now on. */
  release(shard: number): void {
    this.#closing.delete(shard);
  }

  /** Closes every shard immediately and permanently. */
  end(): void {
    this.#hasEnded = true;
    this.#epochs.clear();
    this.#closing.clear();
    this.#closingLast.clear();
  }
}

/** Members of an actor host that eager activation uses. */
interface EagerHost {
  readonly kind: string;
  /** Starts loading an actor of an open shard, unless the actor is in memory. */
  activateEagerly(actorId: string): void;
}

type EagerActivationParts = {
  readonly hosts: readonly EagerHost[];
  readonly open: OpenShards;
  readonly recovered: RecoveredRecords;
  readonly log: CommitLog;
  readonly clock: Clock;
};

/**
 * Activates actors with recovered records that no caller has activated yet, in small passes. The
 * records hold back the low-water mark until their actor has replayed them.
 */
export class EagerActivation {
  readonly #parts: EagerActivationParts;
  #isRunning = false;

  constructor(parts: EagerActivationParts) {
    this.#parts = parts;
  }

  /** Starts background activation for all open shards, unless it is running. */
  begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { clock, hosts, open } = this.#parts;
    const pauseMs = this.#pauses();
    const pass = (): void => {
      let left = EAGER_ACTORS;
      for (const shard of open.epochs.keys()) {
        for (const host of hosts) left -= this.#activateSome(host, shard, left);
        if (left <= 0) break;
      }
      this.#isRunning = left < EAGER_ACTORS;
      if (this.#isRunning) clock.after(pauseMs(), pass);
    };
    clock.after(EAGER_DELAY_MS, pass);
  }

  /**
   * Activates every actor of an open shard that has recovered records. Rejects as `assertAlive`.
   */
  async activateAll(shard: number): Promise<void> {
    const { clock, hosts, recovered, log } = this.#parts;
    const pauseMs = this.#pauses();
    while (hosts.some(({ kind }) => recovered.hasWaiting(shard, kind))) {
      for (const host of hosts) this.#activateSome(host, shard, EAGER_ACTORS);
      await sleep(clock, pauseMs());
      log.assertAlive();
    }
  }

  /**
   * Pause after each pass of one loop, in milliseconds. The pause grows while a store is down or a
   * journal is corrupt.
   */
  #pauses(): () => number {
    const { recovered } = this.#parts;
    let replayed = recovered.replayedActors;
    let fruitless = 0;
    return () => {
      fruitless = replayed === recovered.replayedActors ? fruitless + 1 : 0;
      replayed = recovered.replayedActors;
      return fruitless > EAGER_FRUITLESS_MAX ? EAGER_STUCK_MS : EAGER_PERIOD_MS;
    };
  }

  #activateSome(host: EagerHost, shard: number, count: number): number {
    const waiting = this.#parts.recovered.waiting(shard, host.kind, count);
    for (const actorId of waiting) host.activateEagerly(actorId);
    return waiting.length;
  }
}
