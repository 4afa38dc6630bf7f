import type { ShardClaim, ShardHost } from '#cluster/shard-host';
import { Fault, type ShardOwner } from '#fault/fault';
import { type Clock, sleep } from '#platform/clock';
import { AdoptedRecords, type AdoptedTail } from '#runtime/adopted-records';
import { readTail } from '#runtime/adoption';
import {
  CLOSE_POLL_MS,
  OWED_RETRY_MS,
  WARM_ACTORS,
  WARM_DELAY_MS,
  WARM_FRUITLESS_MAX,
  WARM_PERIOD_MS,
  WARM_STUCK_MS,
} from '#runtime/bounds';
import type { CommitLog } from '#runtime/commit-log';
import type { ShardGate } from '#runtime/shard-gate';
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
  readonly onAdopted: (records: number, incarnation: string) => void;
  /** A dead incarnation's shard is served again, so many seconds after its records were asked for. */
  readonly onRecovered: (seconds: number) => void;
};

/**
 * The shards of one incarnation: which are open, what has been adopted for them, and how they open
 * and close for all kinds of actor together (architecture 3.3, 3.4).
 */
export class HostedShards implements ShardGate, ShardHost {
  readonly open = new Map<number, number>();
  readonly #closing = new Set<number>();
  /** When the adoption for each shard that is being taken over began (monotonic). */
  readonly #adoptionsBegan = new Map<number, number>();
  readonly #ports: HostedShardsPorts;
  readonly #adopted = new AdoptedRecords();
  readonly #hosts: ShardedHost[] = [];
  #isWarming = false;
  /** Adopted actors that were activated so far. */
  #activated = 0;
  #hasEnded = false;

  constructor(ports: HostedShardsPorts) {
    this.#ports = ports;
    ports.log.keep(() => this.#adopted.lowest);
  }

  /** Adds a kind of actor. Before the first shard opens. */
  attach(host: ShardedHost): void {
    this.#hosts.push(host);
  }

  /** Adopted records that no actor has taken over yet. */
  get adoptedRecords(): number {
    return this.#adopted.size;
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

  leaving(shard: number): void {
    this.#closing.delete(shard);
  }

  tailOf(shard: number, actor: string, actorId: string): AdoptedTail | undefined {
    return this.#adopted.tailOf(shard, actor, actorId);
  }

  activated(shard: number, actor: string, actorId: string): void {
    this.#activated += 1;
    this.#adopted.activated(shard, actor, actorId);
  }

  isAdopted({ shard, epoch }: ShardClaim): boolean {
    return this.#adopted.isHeld(shard, epoch);
  }

  async adopt(incarnation: string, claims: readonly ShardClaim[]): Promise<void> {
    const { journals, shardOf, log, clock, onAdopted } = this.#ports;
    const beganMs = clock.monotonicMs();
    for (const { shard } of claims) this.#adoptionsBegan.set(shard, beganMs);
    const wanted = new Set(claims.map(({ shard }) => shard));
    const tail = await readTail(journals, incarnation, (actorId) => wanted.has(shardOf(actorId)));
    if (this.#hasEnded) log.assertOpen();
    // Held before they are durable, so that `low` cannot pass them in between.
    const position = log.added + 1;
    const byShard = Map.groupBy(tail, ({ actorId }) => shardOf(actorId));
    for (const { shard, epoch } of claims) {
      this.#adopted.hold(shard, epoch, byShard.get(shard) ?? [], position);
    }
    for (const { line } of tail) log.add(line);
    onAdopted(tail.length, incarnation);
    await log.whenDurable(log.added);
  }

  openShard({ shard, epoch }: ShardClaim): void {
    if (this.#hasEnded) return;
    this.#adopted.open(shard, epoch);
    this.#closing.delete(shard);
    this.open.set(shard, epoch);
    const beganMs = this.#adoptionsBegan.get(shard);
    if (beganMs !== undefined) {
      this.#ports.onRecovered((this.#ports.clock.monotonicMs() - beganMs) / 1_000);
    }
    this.#adoptionsBegan.delete(shard);
    this.#warm();
  }

  decided({ shard, epoch }: ShardClaim): void {
    this.#adopted.decide(shard, epoch);
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
        await sleep(clock, OWED_RETRY_MS);
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

  /** Activates, little by little, what nobody calls: until then its records hold `low` back. */
  #warm(): void {
    if (this.#isWarming) return;
    this.#isWarming = true;
    const pauseMs = this.#pauses();
    const pass = (): void => {
      let left = WARM_ACTORS;
      for (const shard of this.open.keys()) {
        for (const host of this.#hosts) left -= this.#warmSome(host, shard, left);
        if (left <= 0) break;
      }
      this.#isWarming = left < WARM_ACTORS && !this.#hasEnded;
      if (this.#isWarming) this.#ports.clock.after(pauseMs(), pass);
    };
    this.#ports.clock.after(WARM_DELAY_MS, pass);
  }

  /** Activates every actor of an open shard that has adopted records. */
  async #activateAll(shard: number): Promise<void> {
    const pauseMs = this.#pauses();
    while (this.#hosts.some(({ kind }) => this.#adopted.hasWaiting(shard, kind))) {
      for (const host of this.#hosts) this.#warmSome(host, shard, WARM_ACTORS);
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
      return fruitless > WARM_FRUITLESS_MAX ? WARM_STUCK_MS : WARM_PERIOD_MS;
    };
  }

  #warmSome(host: ShardedHost, shard: number, count: number): number {
    const waiting = this.#adopted.waiting(shard, host.kind, count);
    for (const actorId of waiting) host.warm(actorId);
    return waiting.length;
  }
}
