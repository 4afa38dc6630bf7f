import { every, instantOf } from '#platform/clock';
import { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import { REPLAY_FILL_MAX, SWEEP_ACTORS_MAX, SWEEP_PERIOD_MS } from '#runtime/bounds';
import { Checkpointer } from '#runtime/checkpointer';
import { Groups } from '#runtime/commit-log';
import type { DirtyActors } from '#runtime/dirty-actors';
import type { ActorHostConfig, ActorHostPorts } from '#runtime/host-ports';
import { HostedTurn } from '#runtime/hosted-turn';

/** An actor moves to the young end of the order at most this often, so that a call rarely pays. */
const REORDER_AGE_MS = 1_000;

/** What a closing record is committed for. */
const NO_CALL = { callId: 0 };

/** What is in memory: actors and their bytes, and what of it no checkpoint has stored. */
export type Residency = {
  readonly actors: number;
  readonly bytes: number;
  readonly unflushedRecords: number;
  readonly unflushedBytes: number;
};

/**
 * The actors of one kind that are in memory, least recently used first. Idle ones leave by age and
 * when all of them hold more than the byte budget, always checkpointed first (architecture 3.7).
 */
export class ActivationCatalog<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #config: ActorHostConfig;
  readonly #ports: ActorHostPorts;
  readonly #checkpointer: Checkpointer<State, Call, Answer, Event>;
  readonly #activations = new Map<string, Activation<State, Call, Answer>>();
  /** The same by shard: one that is given up must not cost a look at all others. */
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

  /** Sums over everything in memory. Bytes are the kind's estimate. */
  get totals(): Residency {
    const { records, bytes } = this.dirty;
    const actors = this.#activations.size;
    return { actors, bytes: this.#bytes, unflushedRecords: records, unflushedBytes: bytes };
  }

  /** The account of what the actors here have committed and no checkpoint has stored. */
  get dirty(): DirtyActors<State, Call, Answer, Event> {
    return this.#checkpointer.dirty;
  }

  /** The actor if it is in memory (or loading). */
  find(id: string): Activation<State, Call, Answer> | undefined {
    return this.#activations.get(id);
  }

  /** Whether this very activation is in memory, or being loaded. */
  has(activation: Activation<State, Call, Answer>): boolean {
    return this.#activations.get(activation.id) === activation;
  }

  /** The actor has its turn: that makes it recently used. */
  use(activation: Activation<State, Call, Answer>, nowMs: number): void {
    if (nowMs - activation.lastUsedMs <= REORDER_AGE_MS) return;
    // A call that waited may have its turn when another node has the actor already.
    if (!this.has(activation)) return;
    activation.lastUsedMs = Math.floor(nowMs);
    this.#activations.delete(activation.id);
    this.#activations.set(activation.id, activation);
  }

  /** Adds an actor that is about to be loaded. */
  add(id: string, shard: number): Activation<State, Call, Answer> {
    const nowMs = this.#ports.clock.monotonicMs();
    const activation = new Activation<State, Call, Answer>(id, shard, nowMs);
    this.#activations.set(id, activation);
    this.#shards.add(shard, activation);
    return activation;
  }

  /** Takes an actor out of memory. The caller knows that nothing of it is lost. */
  remove(activation: Activation<State, Call, Answer>): void {
    // One whose load ends late may have been followed: the actor must not be there twice.
    if (this.has(activation)) this.#activations.delete(activation.id);
    this.#shards.delete(activation.shard, activation);
    this.#bytes -= activation.bytes;
    activation.bytes = 0;
  }

  /** Whether so much is waiting to be stored that nothing more may come (architecture 3.2). */
  get isFull(): boolean {
    return this.#checkpointer.fill >= 1;
  }

  /** Whether recovered records may be replayed. */
  get hasRoomForReplay(): boolean {
    return this.#checkpointer.fill < REPLAY_FILL_MAX;
  }

  /** Every actor of a shard that is in memory or being loaded. */
  ofShard(shard: number): Activation<State, Call, Answer>[] {
    return [...this.#shards.of(shard)];
  }

  /** Commits what the actors of a shard still have to say. Throws when nothing can be committed. */
  closeShard(shard: number): void {
    for (const activation of this.ofShard(shard)) this.#close(activation);
  }

  /** Stores most of what is not stored of a shard, while its actors go on. */
  async storeAhead(shard: number): Promise<void> {
    await this.#checkpointer.storeAhead(this.dirty.ofShard(shard));
  }

  /** Stores what is not stored of a shard. Rejects if a write fails. */
  async storeShard(shard: number): Promise<void> {
    await this.#checkpointer.storeAll(() => this.dirty.ofShard(shard));
  }

  /** Takes a shard's actors out of memory, whatever is stored of them: another node has them. */
  dropShard(shard: number): void {
    for (const activation of this.ofShard(shard)) this.#drop(activation);
  }

  /** The same with everything, and no sweep any more: this incarnation has ended. */
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
   * After a turn: takes account of the actor's size, and lets go of one that turned out not to exist.
   * One that has ceased to exist is stored first, like any other.
   */
  endTurn(activation: Activation<State, Call, Answer>): void {
    const { state } = activation;
    const isClean = this.#checkpointer.dirty.stateOf(activation) === undefined;
    if (isClean && activation.isIdle && state !== undefined && this.#kind.isAbsent(state)) {
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

  /** Stops sweeping and stores what is not stored. */
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

  /** Lets an actor go. Returns whether it is still here and leaves once it is stored. */
  #evict(activation: Activation<State, Call, Answer>, nowMs: number): boolean {
    const { state } = activation;
    activation.trim(nowMs);
    if (state === undefined || activation.hasRecentCalls) return false;
    if (!this.#isQuiet(activation)) return this.#checkpointer.dirty.isStoring(activation);
    if (this.#kind.isEvictable?.(state, this.#ports.clock.wallMs()) === false) {
      // To the young end: one that must stay never hides another that may go.
      this.#activations.delete(activation.id);
      this.#activations.set(activation.id, activation);
      return false;
    }
    try {
      this.#close(activation);
    } catch {
      // Nothing can be committed now: it stays until the next sweep.
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
