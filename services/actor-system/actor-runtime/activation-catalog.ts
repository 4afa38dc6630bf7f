/*
 * Actors in memory, and their eviction: an idle actor is checkpointed first, and the least recently
 * used actor leaves first.
 */
import { Activation, HostedTurn } from '#actor-runtime/activation';
import { REPLAY_FILL_MAX, SWEEP_ACTORS_MAX, SWEEP_PERIOD_MS } from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import { Checkpointer } from '#actor-runtime/checkpointer';
import { Groups } from '#actor-runtime/commit-log';
import type { DirtyActors } from '#actor-runtime/dirty-actors';
import type { ActorHostConfig, ActorHostPorts } from '#actor-runtime/host-ports';
import { every, instantOf } from '#stdlib/clock';

/**
 * Minimum time between two moves of an actor to the young end of the LRU order, in milliseconds.
 * Most calls skip the move.
 */
const REORDER_AGE_MS = 1_000;

/** Call id of a closing record. No caller sent the record, so its id is not remembered. */
const NO_CALL = { callId: 0 };

/**
 * Memory use per actor kind: actors and bytes in total, and the records and bytes that no
 * checkpoint has stored.
 */
export type Residency = {
  readonly actors: number;
  readonly bytes: number;
  readonly unflushedRecords: number;
  readonly unflushedBytes: number;
};

/**
 * Actors of one kind in memory, in LRU order. Evicts idle actors by age, and also while all actors
 * together exceed the byte budget. Every actor is checkpointed before eviction (architecture 3.7).
 */
export class ActivationCatalog<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #config: ActorHostConfig;
  readonly #ports: ActorHostPorts;
  readonly #checkpointer: Checkpointer<State, Call, Answer, Event>;
  readonly #activations = new Map<string, Activation<State, Call, Answer>>();
  /** The same activations grouped by shard. Releasing a shard then scans its own actors only. */
  readonly #shards = new Groups<Activation<State, Call, Answer>>();
  readonly #sweeping: Disposable;
  #bytes = 0;

  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    config: ActorHostConfig,
    ports: ActorHostPorts,
  ) {
    this.#kind = kind;
    this.#config = config;
    this.#ports = ports;
    const onStored = (stored: Activation<State, Call, Answer>) => this.#weigh(stored);
    this.#checkpointer = new Checkpointer(kind, ports, onStored, config);
    ports.log.keep(() => this.#checkpointer.dirty.lowest);
    this.#sweeping = every(ports.clock, SWEEP_PERIOD_MS, () => this.#sweep());
  }

  /** Totals over all actors in memory. Bytes are the kind's estimate. */
  get totals(): Residency {
    const { records, bytes } = this.dirty;
    const actors = this.#activations.size;
    return { actors, bytes: this.#bytes, unflushedRecords: records, unflushedBytes: bytes };
  }

  /** Committed changes of these actors that no checkpoint has stored. */
  get dirty(): DirtyActors<State, Call, Answer, Event> {
    return this.#checkpointer.dirty;
  }

  /** Activation of an actor that is in memory or loading. */
  find(id: string): Activation<State, Call, Answer> | undefined {
    return this.#activations.get(id);
  }

  /**
   * Whether this activation is in memory or loading. A later activation of the same actor does not
   * count.
   */
  has(activation: Activation<State, Call, Answer>): boolean {
    return this.#activations.get(activation.id) === activation;
  }

  /** Marks an actor that has a turn as recently used. */
  use(activation: Activation<State, Call, Answer>, nowMs: number): void {
    if (nowMs - activation.lastUsedMs <= REORDER_AGE_MS) return;
    // A queued call may have its turn after another node took the actor over.
    if (!this.has(activation)) return;
    activation.lastUsedMs = Math.floor(nowMs);
    this.#activations.delete(activation.id);
    this.#activations.set(activation.id, activation);
  }

  /** Adds an actor that is about to load. */
  add(id: string, shard: number): Activation<State, Call, Answer> {
    const nowMs = this.#ports.clock.monotonicMs();
    const activation = new Activation<State, Call, Answer>(id, shard, nowMs);
    this.#activations.set(id, activation);
    this.#shards.add(shard, activation);
    return activation;
  }

  /**
   * Removes an actor from memory. The caller must have stored all changes, or must not need them.
   */
  remove(activation: Activation<State, Call, Answer>): void {
    // If a load ends late, the id may belong to a newer activation, which stays.
    if (this.has(activation)) this.#activations.delete(activation.id);
    this.#shards.delete(activation.shard, activation);
    this.#bytes -= activation.bytes;
    activation.bytes = 0;
  }

  /**
   * Whether too many changes wait for a checkpoint. If so, new calls are refused (architecture
   * 3.2).
   */
  get isFull(): boolean {
    return this.dirty.fill >= 1;
  }

  /** Whether there is room to replay recovered records. */
  get hasRoomForReplay(): boolean {
    return this.dirty.fill < REPLAY_FILL_MAX;
  }

  /** Every actor of a shard that is in memory or loading. */
  ofShard(shard: number): Activation<State, Call, Answer>[] {
    return [...this.#shards.of(shard)];
  }

  /** Commits the closing events of a shard's actors. Throws when nothing can be committed. */
  closeShard(shard: number): void {
    for (const activation of this.ofShard(shard)) this.#close(activation);
  }

  /** Fulfils when the present notices of a shard's actors are sent. Rejects like the outbox. */
  async whenSent(shard: number): Promise<void> {
    await this.#checkpointer.whenSent(this.dirty.ofShard(shard));
  }

  /** Stores most unstored changes of a shard while its actors keep serving. */
  async storeAhead(shard: number): Promise<void> {
    await this.#checkpointer.storeAhead(this.dirty.ofShard(shard));
  }

  /** Stores all unstored changes of a shard. Rejects if a write fails. */
  async storeShard(shard: number): Promise<void> {
    await this.#checkpointer.storeAll(() => this.dirty.ofShard(shard));
  }

  /** Removes a shard's actors from memory without storing them, because another node owns them. */
  dropShard(shard: number): void {
    for (const activation of this.ofShard(shard)) this.#drop(activation);
  }

  /**
   * Removes all actors without a checkpoint and stops sweeping, because this incarnation has ended.
   */
  abandon(): void {
    this.#sweeping[Symbol.dispose]();
    for (const activation of [...this.#activations.values()]) this.#drop(activation);
  }

  #drop(activation: Activation<State, Call, Answer>): void {
    this.#checkpointer.abandon(activation);
    this.remove(activation);
  }

  #isQuiet(activation: Activation<State, Call, Answer>): boolean {
    return activation.isIdle && !this.#checkpointer.dirty.isStoring(activation);
  }

  /**
   * Updates an actor's size after a turn, and removes an actor that does not exist. A deleted actor
   * with unstored changes is stored first, like any other.
   */
  endTurn(activation: Activation<State, Call, Answer>): void {
    const { state } = activation;
    const isAbsent = activation.isIdle && state !== undefined && this.#kind.isAbsent(state);
    if (isAbsent && this.#checkpointer.dirty.stateOf(activation) === undefined) {
      this.remove(activation);
      return;
    }
    this.#weigh(activation);
  }

  #weigh(activation: Activation<State, Call, Answer>): void {
    if (activation.state === undefined || !this.has(activation)) return;
    const bytes = this.#kind.sizeOf(activation.state);
    this.#bytes += bytes - activation.bytes;
    activation.bytes = bytes;
  }

  /** Stops sweeping and stores all unstored changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    await this.#checkpointer.storeAll(() => this.dirty.actors());
  }

  #sweep(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#checkpointer.startDue(nowMs);
    this.#checkpointer.forgetOldCalls(nowMs);
    let looked = 0;
    let leavingBytes = 0;
    for (const activation of this.#activations.values()) {
      looked += 1;
      const isOld = nowMs - activation.lastUsedMs > this.#config.idleAgeMs;
      const isOverBudget = this.#bytes - leavingBytes > this.#config.memoryBytesMax;
      if (looked > SWEEP_ACTORS_MAX || (!isOld && !isOverBudget)) break;
      if (this.#evict(activation, nowMs)) leavingBytes += activation.bytes;
    }
    this.#ports.metrics.resident(this.totals);
  }

  /**
   * Tries to evict an actor. Returns true if the actor stays for now and leaves after its
   * checkpoint.
   */
  #evict(activation: Activation<State, Call, Answer>, nowMs: number): boolean {
    const { state } = activation;
    activation.trim(nowMs);
    if (state === undefined || activation.hasRecentCalls) return false;
    if (!this.#isQuiet(activation)) return this.#checkpointer.dirty.isStoring(activation);
    if (this.#kind.isEvictable?.(state, this.#ports.clock.wallMs()) === false) {
      // Move the actor to the young end, so that it does not block the eviction of other actors.
      this.#activations.delete(activation.id);
      this.#activations.set(activation.id, activation);
      return false;
    }
    try {
      this.#close(activation);
    } catch {
      // The closing event cannot be committed now: retry at the next sweep.
      return false;
    }
    if (this.#checkpointer.dirty.stateOf(activation) === undefined) {
      this.remove(activation);
      return false;
    }
    this.#checkpointer.storeSoon(activation);
    return true;
  }

  #close(activation: Activation<State, Call, Answer>): void {
    const { state } = activation;
    if (state === undefined) return;
    const { clock, log } = this.#ports;
    const now = instantOf(clock);
    const event = this.#kind.sourcing?.closing?.(state, now);
    if (event === undefined) return;
    new HostedTurn(this.#kind, activation, NO_CALL, clock, log, this.dirty).commit(event);
  }
}
