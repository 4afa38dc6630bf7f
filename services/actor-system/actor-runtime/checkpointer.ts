import type { Activation } from '#actor-runtime/activation';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINT_SLICE_MS,
  EARLY_WRITE_BYTES_MAX,
  EARLY_WRITES_IN_FLIGHT_MAX,
  TAIL_FILL_DUE,
  UNFLUSHED_RECORDS_MAX,
  URGENT_CHECKPOINT_AGE_MS,
} from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import { CheckpointWriter } from '#actor-runtime/checkpoint-writer';
import { DirtyActors, type DirtyState } from '#actor-runtime/dirty-actors';
import type { Checkpoint } from '#actor-runtime/event-sourcing';
import type { ActorHostConfig, ActorHostPorts } from '#actor-runtime/host-ports';
import { sleep } from '#stdlib/clock';
import { HEADS_MAX } from '#storage/ports/instances';

/**
 * Stores dirty actors late (architecture 3.2), together with other dirty actors of their bucket.
 *
 * An actor is due if one of these conditions holds:
 * - It has been dirty for two minutes, or for 10 s if a guarantee to callers depends on the
 *   checkpoint.
 * - It is the oldest dirty actor and the tail of unstored records is over half its bound.
 * - It is about to leave memory.
 *
 * Some of the oldest actors start before they are due, so that the load on the store is even. A
 * failed write leaves its actors dirty and is retried.
 */
export class Checkpointer<State, Call extends ActorCall, Answer, Event> {
  readonly #ports: ActorHostPorts;
  readonly #ageMs: number;
  readonly #writer: CheckpointWriter<State, Call, Answer, Event>;
  readonly #earlyWriter: EarlyWriter<State, Call, Answer, Event>;
  /** Tracks unstored changes. */
  readonly dirty: DirtyActors<State, Call, Answer, Event>;
  /** Dirty actors that are about to leave memory. They are due at any age. */
  readonly #leaving = new Set<Activation<State, Call, Answer>>();
  readonly #pace: EvenPace;
  #sliceStartMs = 0;

  /** `onStored` is called for every actor that holds less memory after a write. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    onStored: (activation: Activation<State, Call, Answer>) => void = () => undefined,
    config: Pick<ActorHostConfig, 'checkpointAgeMs' | 'earlyRowsBytesMax'> = {},
  ) {
    const { checkpointAgeMs: ageMs = CHECKPOINT_AGE_MS, earlyRowsBytesMax } = config;
    this.#ports = ports;
    this.#ageMs = ageMs;
    this.dirty = new DirtyActors(kind, ports.clock, earlyRowsBytesMax);
    this.#writer = new CheckpointWriter(kind, ports, this.dirty, onStored);
    this.#earlyWriter = new EarlyWriter(kind, ports, this.dirty, onStored);
    this.#pace = new EvenPace(ageMs, ports.clock.monotonicMs());
  }

  /**
   * Starts checkpoints of due actors, and of some actors before they are due, while the number of
   * concurrent writes allows. The oldest actors go first, because they hold back the journal's
   * low-water mark.
   */
  startDue(monotonicMs: number): void {
    const { clock } = this.#ports;
    const begunMs = clock.monotonicMs();
    // Copies are made synchronously, up to 64 per write. The remaining actors wait for these
    // writes.
    const mayGoOn = () =>
      this.#writer.hasRoom && clock.monotonicMs() - begunMs < CHECKPOINT_SLICE_MS;
    // Actors that leave memory are stored separately, so they must not speed up the others.
    this.#pace.earn(Math.max(0, this.dirty.size - this.#leaving.size), monotonicMs);
    this.#startUrgent(monotonicMs, mayGoOn);
    this.#startOldest(monotonicMs, mayGoOn);
    if (mayGoOn()) this.#startLeaving();
    this.#earlyWriter.startDue(() => this.#continue());
  }

  #startUrgent(monotonicMs: number, mayGoOn: () => boolean): void {
    for (const [activation, sinceMs] of this.dirty.urgent()) {
      if (!mayGoOn() || monotonicMs - sinceMs < URGENT_CHECKPOINT_AGE_MS) return;
      const dirty = this.dirty.stateOf(activation);
      if (dirty !== undefined && this.#hasRoomFor(activation, dirty)) this.#start(activation);
    }
  }

  #startOldest(monotonicMs: number, mayGoOn: () => boolean): void {
    for (const [activation, dirty] of this.dirty.entries()) {
      if (!mayGoOn()) return;
      const isOverdue = this.#isOverdue(dirty, monotonicMs);
      if (!isOverdue && this.dirty.tail <= TAIL_FILL_DUE && !this.#pace.mayBegin) return;
      // An overdue actor is stored even if it is busy: the copy is made synchronously, so it is
      // consistent.
      const mayBegin = isOverdue || !activation.isBusy;
      if (mayBegin && this.#hasRoomFor(activation, dirty)) {
        this.#pace.began(this.#start(activation));
      }
    }
  }

  #isOverdue({ sinceMs, firstOffset }: DirtyState, monotonicMs: number): boolean {
    const isOld = monotonicMs - sinceMs >= this.#ageMs;
    // A new owner reads all records from the first offset on, including records of stored actors.
    const isFarBack = this.#ports.log.added - firstOffset >= UNFLUSHED_RECORDS_MAX;
    return isOld || isFarBack;
  }

  #hasRoomFor(activation: Activation<State, Call, Answer>, dirty: DirtyState): boolean {
    return !dirty.isStoring && this.#writer.hasRoomFor(activation, dirty);
  }

  /**
   * Returns false for a busy actor and for an actor that is being stored. Both wait for the next
   * sweep.
   */
  #isFree(activation: Activation<State, Call, Answer>): boolean {
    return !activation.isBusy && this.dirty.stateOf(activation)?.isStoring === false;
  }

  /** Frees expired call ids of stored actors, so that idle actors are small. */
  forgetOldCalls(monotonicMs: number): void {
    this.#writer.forgetOldCalls(monotonicMs);
  }

  /** Stores an actor that is about to leave memory as soon as a write is free, at any age. */
  storeSoon(activation: Activation<State, Call, Answer>): void {
    this.#leaving.add(activation);
    this.#startLeaving();
  }

  #startLeaving(): void {
    for (const activation of this.#leaving) {
      if (!this.#writer.hasRoom) return;
      this.#leaving.delete(activation);
      if (activation.isIdle && this.#isFree(activation)) this.#start(activation);
    }
  }

  /**
   * Stores every dirty actor among `wanted()`, for a process that shuts down or a shard that
   * closes. Rejects if a write fails.
   */
  async storeAll(wanted: () => Iterable<Activation<State, Call, Answer>>): Promise<void> {
    for (;;) {
      const dirty = this.#dirtyOf(wanted());
      if (dirty.size === 0) return;
      // Actors with unsent notices come last: they would be written one by one, and may wait long.
      const unsent = [...dirty].filter((one) => this.#isUnsent(one));
      if (unsent.length === dirty.size) await this.whenSent(unsent);
      else for (const one of unsent) dirty.delete(one);
      const writes: Promise<void>[] = [];
      for (const activation of dirty) {
        // The bound is per process, so closing shards share it with the other checkpoints.
        if (!this.#writer.hasRoom) break;
        if (this.dirty.isStoring(activation)) continue;
        const batch = this.#writer.batchOf(activation, (mate) => dirty.has(mate));
        writes.push(this.#writer.store(batch));
      }
      await Promise.all(writes);
      if (writes.length === 0) await sleep(this.#ports.clock, 1);
    }
  }

  /**
   * Stores each dirty actor of `wanted` once, while the shard keeps serving, so that little is left
   * for `storeAll`. Actors whose write fails stay dirty, and so do actors with unsent notices.
   */
  async storeAhead(wanted: Iterable<Activation<State, Call, Answer>>): Promise<void> {
    const writes: Promise<void>[] = [];
    const waiting = this.#dirtyOf(wanted);
    const mayCome = (activation: Activation<State, Call, Answer>): boolean =>
      waiting.has(activation) && !activation.isBusy;
    for (const activation of waiting) {
      while (!this.#writer.hasRoom) await sleep(this.#ports.clock, 1);
      if (!this.#isFree(activation) || this.#isUnsent(activation)) continue;
      const batch = this.#writer.batchOf(activation, mayCome);
      for (const one of batch) waiting.delete(one);
      const written = this.#writer.store(batch);
      writes.push(written.catch(() => this.#ports.metrics.checkpointFailed()));
    }
    await Promise.all(writes);
  }

  /** Fulfils when the present notices of these actors are sent. Rejects like the outbox. */
  async whenSent(wanted: Iterable<Activation<State, Call, Answer>>): Promise<void> {
    const { outbox } = this.#ports;
    const unsent = [...wanted].flatMap(({ id }) => outbox?.whenSent(id) ?? []);
    if (unsent.length > 0) await Promise.all(unsent);
  }

  #isUnsent({ id }: Activation<State, Call, Answer>): boolean {
    return this.#ports.outbox?.has(id) === true;
  }

  /** Forgets an actor that another node owns now, or that will be recovered from the journal. */
  abandon(activation: Activation<State, Call, Answer>): void {
    this.dirty.forget(activation);
    this.#leaving.delete(activation);
    this.#writer.abandon(activation);
  }

  #dirtyOf(
    activations: Iterable<Activation<State, Call, Answer>>,
  ): Set<Activation<State, Call, Answer>> {
    const dirty = new Set<Activation<State, Call, Answer>>();
    for (const one of activations) if (this.dirty.stateOf(one) !== undefined) dirty.add(one);
    return dirty;
  }

  /** Starts a write for an actor and others in its bucket. Returns the number of actors written. */
  #start(leader: Activation<State, Call, Answer>): number {
    const batch = this.#writer.batchOf(leader, ({ isBusy }) => !isBusy);
    this.#writer.store(batch).then(
      () => this.#continue(),
      // The next sweep retries. An unavailable store must not be called in a tight loop.
      () => this.#ports.metrics.checkpointFailed(),
    );
    return batch.length;
  }

  /**
   * Starts more due writes. Yields to the event loop between slices, because a store may answer
   * synchronously.
   */
  #continue(): void {
    const { clock } = this.#ports;
    if (clock.monotonicMs() - this.#sliceStartMs < CHECKPOINT_SLICE_MS) {
      this.startDue(clock.monotonicMs());
      return;
    }
    clock.after(0, () => {
      this.#sliceStartMs = clock.monotonicMs();
      this.startDue(this.#sliceStartMs);
    });
  }
}

/**
 * Spreads recurring work evenly over a period (token bucket). In each part of the period the same
 * share of the waiting actors may begin. Without this pacing, actors that become due together would
 * be stored together again in every later period.
 */
export class EvenPace {
  readonly #withinMs: number;
  #earned = 0;
  #earnedMs: number;

  constructor(withinMs: number, nowMs: number) {
    this.#withinMs = withinMs;
    this.#earnedMs = nowMs;
  }

  /**
   * Earns tokens for the time since the last call, with `waiting` actors in the queue. `nowMs` is
   * monotonic.
   */
  earn(waiting: number, nowMs: number): void {
    const earned = (waiting * (nowMs - this.#earnedMs)) / this.#withinMs;
    this.#earned = Math.min(waiting, this.#earned + earned);
    this.#earnedMs = nowMs;
  }

  /** Whether one more actor may begin before it is due. */
  get mayBegin(): boolean {
    return this.#earned >= 1;
  }

  /**
   * Spends tokens for `count` actors that began together, whether or not they were due. A negative
   * balance delays later actors.
   */
  began(count = 1): void {
    this.#earned = Math.max(1 - count, this.#earned - count);
  }
}

/** Copy of one actor's early rows for a write. */
type Part<State, Call, Answer> = {
  readonly activation: Activation<State, Call, Answer>;
  readonly dirty: DirtyState;
  readonly rows: Checkpoint<State>;
};

/**
 * Stores early rows while they fill more than half of the room for early rows. Many rows of a
 * bucket share one write. Without these writes, large rows would make the checkpoints of their
 * actors due earlier (decision 203). Only rows of durable records are stored. After a failed write
 * the rows stay in memory.
 */
export class EarlyWriter<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #dirty: DirtyActors<State, Call, Answer, Event>;
  readonly #onStored: (activation: Activation<State, Call, Answer>) => void;
  /** Bytes of the write in flight, by bucket. */
  readonly #storing = new Map<number, number>();

  /** `onStored` is called for every actor that holds less memory after a write. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    dirty: DirtyActors<State, Call, Answer, Event>,
    onStored: (activation: Activation<State, Call, Answer>) => void,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.#dirty = dirty;
    this.#onStored = onStored;
  }

  /** Starts the writes that are due. `onWritten` is called after each successful write. */
  startDue(onWritten: () => void): void {
    const { clock } = this.#ports;
    const begunMs = clock.monotonicMs();
    for (const bucket of this.#dirty.early.buckets()) {
      const hasRoom = this.#storing.size < EARLY_WRITES_IN_FLIGHT_MAX;
      const hasTime = clock.monotonicMs() - begunMs < CHECKPOINT_SLICE_MS;
      if (!this.#isDue || !hasRoom || !hasTime) return;
      if (this.#storing.has(bucket)) continue;
      // The next sweep retries. An unavailable store must not be called in a tight loop.
      this.#store(bucket).then(onWritten, () => this.#ports.metrics.checkpointFailed());
    }
  }

  /** Whether the early rows that are not in flight fill more than `TAIL_FILL_DUE` of their room. */
  get #isDue(): boolean {
    const underWay = [...this.#storing.values()].reduce((sum, bytes) => sum + bytes, 0);
    return this.#dirty.earlyFill(underWay) > TAIL_FILL_DUE;
  }

  async #store(bucket: number): Promise<void> {
    const { early } = this.#dirty;
    const { actors, bytes } = early.oldestOf(bucket, HEADS_MAX, EARLY_WRITE_BYTES_MAX);
    this.#storing.set(bucket, Math.min(bytes, EARLY_WRITE_BYTES_MAX));
    try {
      const parts = actors.flatMap((activation) => this.#partsOf(activation));
      await this.#write(parts);
      for (const part of parts) this.#stored(part);
    } finally {
      this.#storing.delete(bucket);
      early.postpone(bucket);
    }
  }

  #partsOf(activation: Activation<State, Call, Answer>): Part<State, Call, Answer>[] {
    const { id, state } = activation;
    const dirty = this.#dirty.stateOf(activation);
    const earlyRows = this.#kind.sourcing?.earlyRows;
    if (state === undefined || dirty === undefined || earlyRows === undefined) return [];
    const rows = earlyRows.copy(id, state, EARLY_WRITE_BYTES_MAX);
    return [{ activation, dirty, rows }];
  }

  async #write(parts: readonly Part<State, Call, Answer>[]): Promise<void> {
    const offsets = parts.map(({ activation }) => activation.offset);
    await this.#ports.log.whenDurable(Math.max(0, ...offsets));
    const present = parts.filter((part) => this.#isHere(part));
    const copies = present.map(({ rows }) => rows.copy);
    if (copies.length > 0) await this.#kind.sourcing?.earlyRows?.store(copies);
  }

  /**
   * Whether this activation is still dirty in this process. False if another node owns the actor
   * now or a newer activation replaced this activation.
   */
  #isHere({ activation, dirty }: Part<State, Call, Answer>): boolean {
    return this.#dirty.stateOf(activation) === dirty;
  }

  #stored(part: Part<State, Call, Answer>): void {
    const { activation, rows } = part;
    if (!this.#isHere(part) || activation.state === undefined) return;
    rows.forget(activation.state);
    this.#dirty.weigh(activation);
    this.#onStored(activation);
  }
}
