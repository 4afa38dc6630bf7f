import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { Fault, type ShardOwner } from '#fault/fault';
import {
  CLOSE_POLL_MS,
  EAGER_ACTORS,
  EAGER_DELAY_MS,
  EAGER_FRUITLESS_MAX,
  EAGER_PERIOD_MS,
  EAGER_STUCK_MS,
  EFFECT_RETRY_MS,
} from '#node/bounds';
import { RecoveredRecords } from '#node/recovered-records';
import { readTail } from '#node/tail-reader';
import { type Clock, sleep } from '#platform/clock';
import type { CommitLog } from '#runtime/commit-log';
import type { RecoveredTail, ShardGate } from '#runtime/shard-gate';
import type { JournalStore } from '#storage/journal-store';

/** A host of one kind of actor, as far as shards come and go. */
export interface ShardedHost {
  readonly kind: string;
  warm(actorId: string): void;
  busyIn(shard: number): number;
  storeAhead(shard: number): Promise<void>;
  closeShard(shard: number): void;
  storeShard(shard: number): Promise<void>;
  dropShard(shard: number): void;
}

/** What shards need of their process. */
export type HostedShardsPorts = {
  readonly log: CommitLog;
  readonly journals: JournalStore;
  readonly clock: Clock;
  readonly shardOf: (actorId: string) => number;
  /** Who else may own a shard, to be named in a refusal. */
  readonly ownerOf: (shard: number) => ShardOwner | undefined;
  /** So many records of a dead incarnation are about to be ours. */
  readonly onTailRecovered: (records: number, incarnation: string) => void;
  /** A dead incarnation's shard is served again, so many seconds after its records were asked for. */
  readonly onTakenOver: (seconds: number) => void;
};

/**
 * The shards of one incarnation: which are open, what has been recovered for them, and how they open
 * and close for all kinds of actor together (architecture 3.3, 3.4).
 */
export class HostedShards implements ShardGate, ShardHost {
  readonly open = new Map<number, number>();
  readonly #closing = new Set<number>();
  /** When the tailRecovery for each shard that is being taken over began (monotonic). */
  readonly #adoptionsBegan = new Map<number, number>();
  readonly #ports: HostedShardsPorts;
  readonly #recovered = new RecoveredRecords();
  readonly #hosts: ShardedHost[] = [];
  #isWarming = false;
  /** Adopted actors that were activated so far. */
  #activated = 0;
  #hasEnded = false;

  constructor(ports: HostedShardsPorts) {
    this.#ports = ports;
    ports.log.keep(() => this.#recovered.lowest);
  }

  /** Adds a kind of actor. Before the first shard opens. */
  attach(host: ShardedHost): void {
    this.#hosts.push(host);
  }

  /** Adopted records that no actor has taken over yet. */
  get recoveredRecords(): number {
    return this.#recovered.size;
  }

  shardOf(actorId: string): number {
    return this.#ports.shardOf(actorId);
  }

  assertOpen(shard: number): void {
    if (this.open.has(shard)) return;
    const owner = this.#ports.ownerOf(shard);
    throw new Fault('service_unavailable', 'another node owns this shard', {
      reason: 'not_owner',
      retryAfterS: 1,
      ...(owner === undefined ? {} : { owner }),
    });
  }

  isClosing(shard: number): boolean {
    return this.#closing.has(shard);
  }

  releasing(shard: number): void {
    this.#closing.delete(shard);
  }

  tailOf(shard: number, actor: string, actorId: string): RecoveredTail | undefined {
    return this.#recovered.tailOf(shard, actor, actorId);
  }

  activated(shard: number, actor: string, actorId: string): void {
    this.#activated += 1;
    this.#recovered.activated(shard, actor, actorId);
  }

  isRecovered({ shard, epoch }: ShardClaim): boolean {
    return this.#recovered.isHeld(shard, epoch);
  }

  async recoverTail(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    const { journals, shardOf, log, clock, onTailRecovered } = this.#ports;
    const beganMs = clock.monotonicMs();
    for (const { shard } of claims) this.#adoptionsBegan.set(shard, beganMs);
    const wanted = new Set(claims.map(({ shard }) => shard));
    const tail = await readTail(journals, incarnation, (actorId) => wanted.has(shardOf(actorId)));
    if (this.#hasEnded) log.assertOpen();
    // Held before they are durable, so that the low-water mark cannot pass them in between.
    const offset = log.added + 1;
    const byShard = Map.groupBy(tail, ({ actorId }) => shardOf(actorId));
    for (const { shard, epoch } of claims) {
      this.#recovered.hold(shard, epoch, byShard.get(shard) ?? [], offset);
    }
    for (const { line } of tail) log.add(line);
    onTailRecovered(tail.length, incarnation);
    await log.whenDurable(log.added);
  }

  openShard({ shard, epoch }: ShardClaim): void {
    if (this.#hasEnded) return;
    this.#recovered.open(shard, epoch);
    this.#closing.delete(shard);
    this.open.set(shard, epoch);
    const beganMs = this.#adoptionsBegan.get(shard);
    if (beganMs !== undefined) {
      this.#ports.onTakenOver((this.#ports.clock.monotonicMs() - beganMs) / 1_000);
    }
    this.#adoptionsBegan.delete(shard);
    this.#warm();
  }

  decided({ shard, epoch }: ShardClaim): void {
    this.#recovered.decide(shard, epoch);
  }

  async closeShard(shard: number): Promise<void> {
    const { clock, log } = this.#ports;
    // While the shard is closed its callers wait, so what can be is done before. A shard with records
    // that make no sense stays open: all but their actors are served.
    await this.#activateAll(shard);
    for (const host of this.#hosts) await host.storeAhead(shard);
    this.open.delete(shard);
    this.#closing.add(shard);
    while (this.#hosts.some((host) => host.busyIn(shard) > 0)) {
      await sleep(clock, CLOSE_POLL_MS);
      log.assertAlive();
    }
    for (;;) {
      try {
        for (const host of this.#hosts) host.closeShard(shard);
        await log.whenDurable(log.added);
        for (const host of this.#hosts) await host.storeShard(shard);
        break;
      } catch {
        log.assertAlive();
        await sleep(clock, EFFECT_RETRY_MS);
      }
    }
    for (const host of this.#hosts) host.dropShard(shard);
  }

  /** Closes everything at once and stores nothing: this incarnation has ended. */
  end(): void {
    this.#hasEnded = true;
    this.open.clear();
    this.#closing.clear();
  }

  /** Activates, little by little, what nobody calls: until then its records hold the low-water mark back. */
  #warm(): void {
    if (this.#isWarming) return;
    this.#isWarming = true;
    const pauseMs = this.#pauses();
    const pass = (): void => {
      let left = EAGER_ACTORS;
      for (const shard of this.open.keys()) {
        for (const host of this.#hosts) left -= this.#warmSome(host, shard, left);
        if (left <= 0) break;
      }
      this.#isWarming = left < EAGER_ACTORS && !this.#hasEnded;
      if (this.#isWarming) this.#ports.clock.after(pauseMs(), pass);
    };
    this.#ports.clock.after(EAGER_DELAY_MS, pass);
  }

  /** Activates every actor of an open shard that has recovered records. */
  async #activateAll(shard: number): Promise<void> {
    const pauseMs = this.#pauses();
    while (this.#hosts.some(({ kind }) => this.#recovered.hasWaiting(shard, kind))) {
      for (const host of this.#hosts) this.#warmSome(host, shard, EAGER_ACTORS);
      await sleep(this.#ports.clock, pauseMs());
      this.#ports.log.assertAlive();
    }
  }

  /**
   * The pause after each pass of one loop: a store that is down, or a journal that makes no sense, is
   * not asked all the time.
   */
  #pauses(): () => number {
    let activated = this.#activated;
    let fruitless = 0;
    return () => {
      fruitless = activated === this.#activated ? fruitless + 1 : 0;
      activated = this.#activated;
      return fruitless > EAGER_FRUITLESS_MAX ? EAGER_STUCK_MS : EAGER_PERIOD_MS;
    };
  }

  #warmSome(host: ShardedHost, shard: number, count: number): number {
    const waiting = this.#recovered.waiting(shard, host.kind, count);
    for (const actorId of waiting) host.warm(actorId);
    return waiting.length;
  }
}
