import { sleep } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINT_SLICE_MS,
  TAIL_FILL_DUE,
  UNFLUSHED_RECORDS_MAX,
  URGENT_CHECKPOINT_AGE_MS,
} from '#runtime/bounds';
import { CheckpointWriter } from '#runtime/checkpoint-writer';
import { DirtyActors, type DirtyState } from '#runtime/dirty-actors';
import { EarlyWriter } from '#runtime/early-writer';
import type { ActorHostConfig, ActorHostPorts } from '#runtime/host-ports';

/**
 * Stores dirty actors late (architecture 3.2): when one has been dirty for two minutes, or for 10 s
 * if a promise depends on it, or is the oldest while the unflushed tail is over half its bound, or is
 * about to leave memory; and with each those of its bucket, in one write. Of many the oldest begin
 * earlier, so that the store has about the same to do all the time. A failed write
 * leaves its actors dirty and is tried again.
 */
export class Checkpointer<State, Call extends ActorCall, Answer, Event> {
  readonly #ports: ActorHostPorts;
  readonly #ageMs: number;
  readonly #writer: CheckpointWriter<State, Call, Answer, Event>;
  readonly #earlyWriter: EarlyWriter<State, Call, Answer, Event>;
  /** The account of what is not stored. */
  readonly dirty: DirtyActors<State, Call, Answer, Event>;
  /** Dirty actors that are about to leave memory, and so are due at any age. */
  readonly #leaving = new Set<Activation<State, Call, Answer>>();
  readonly #pace: EvenPace;
  #sliceStartMs = 0;

  /** `onStored` is notified of every actor that holds less now. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    onStored: (activation: Activation<State, Call, Answer>) => void = () => undefined,
    config: Pick<ActorHostConfig, 'checkpointAgeMs' | 'earlyRowsBytesMax'> = {},
  ) {
    const { checkpointAgeMs: ageMs = CHECKPOINT_AGE_MS, earlyRowsBytesMax } = config;
    this.#ports = ports;
    this.#ageMs = ageMs;
    this.dirty = new DirtyActors(kind, ports.clock);
    this.#writer = new CheckpointWriter(kind, ports, this.dirty, onStored);
    this.#earlyWriter = new EarlyWriter(kind, ports, this.dirty, onStored, earlyRowsBytesMax);
    this.#pace = new EvenPace(ageMs, ports.clock.monotonicMs());
  }

  /** How full the tail or the room for early rows is: at 1 nothing more may come. */
  get fill(): number {
    return Math.max(this.dirty.tail, this.#earlyWriter.fill);
  }

  /**
   * Starts the checkpoints that are due by promise, age, tail or pace, as many as may be in flight:
   * the old ones first, because the journal cannot let go of anything behind them.
   */
  startDue(monotonicMs: number): void {
    const { clock } = this.#ports;
    const begunMs = clock.monotonicMs();
    // Copies are made at once, up to 64 for a write: what is left waits until these are written.
    const mayGoOn = () =>
      this.#writer.hasRoom && clock.monotonicMs() - begunMs < CHECKPOINT_SLICE_MS;
    // Those that leave have their own way out, and must not speed up the others.
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
      if (dirty !== undefined && this.#hasRoomFor(dirty)) this.#start(activation);
    }
  }

  #startOldest(monotonicMs: number, mayGoOn: () => boolean): void {
    for (const [activation, dirty] of this.dirty.entries()) {
      if (!mayGoOn()) return;
      const isOverdue = this.#isOverdue(dirty, monotonicMs);
      if (!isOverdue && this.dirty.tail <= TAIL_FILL_DUE && !this.#pace.mayBegin) return;
      // One that always has a turn is stored all the same: a copy is taken between two tasks.
      const mayBegin = isOverdue || !activation.isBusy;
      if (mayBegin && this.#hasRoomFor(dirty)) this.#pace.began(this.#start(activation));
    }
  }

  #isOverdue({ sinceMs, firstOffset }: DirtyState, monotonicMs: number): boolean {
    const isOld = monotonicMs - sinceMs >= this.#ageMs;
    // A new owner would read all records since, also of actors that have been stored in between.
    const isFarBack = this.#ports.log.added - firstOffset >= UNFLUSHED_RECORDS_MAX;
    return isOld || isFarBack;
  }

  #hasRoomFor(dirty: DirtyState): boolean {
    return !dirty.isStoring && this.#writer.hasRoomFor(dirty);
  }

  /** One that has a turn or is being stored is left to the next sweep. */
  #isFree(activation: Activation<State, Call, Answer>): boolean {
    return !activation.isBusy && this.dirty.stateOf(activation)?.isStoring === false;
  }

  /** Frees the call ids of stored actors once they are too old to matter, so that idle ones are small. */
  forgetOldCalls(monotonicMs: number): void {
    this.#writer.forgetOldCalls(monotonicMs);
  }

  /** Stores an actor that is about to leave memory as soon as there is room, whatever its age. */
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
   * Stores every dirty actor of those that `wanted` answers, for a process that closes in good order or
   * gives a shard up. Rejects if a write fails.
   */
  async storeAll(wanted: () => Iterable<Activation<State, Call, Answer>>): Promise<void> {
    for (;;) {
      const dirty = this.#dirtyOf(wanted());
      if (dirty.size === 0) return;
      const writes: Promise<void>[] = [];
      for (const activation of dirty) {
        // The bound is the process's: shards that close share it with the other checkpoints.
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
   * Stores every dirty actor of these, once and while it goes on serving, so that little is left for
   * `storeAll`. What fails stays dirty.
   */
  async storeAhead(wanted: Iterable<Activation<State, Call, Answer>>): Promise<void> {
    const writes: Promise<void>[] = [];
    const waiting = this.#dirtyOf(wanted);
    const mayCome = (activation: Activation<State, Call, Answer>): boolean =>
      waiting.has(activation) && !activation.isBusy;
    for (const activation of waiting) {
      while (!this.#writer.hasRoom) await sleep(this.#ports.clock, 1);
      if (!this.#isFree(activation)) continue;
      const batch = this.#writer.batchOf(activation, mayCome);
      for (const one of batch) waiting.delete(one);
      const written = this.#writer.store(batch);
      writes.push(written.catch(() => this.#ports.metrics.checkpointFailed()));
    }
    await Promise.all(writes);
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

  /** Starts a write of an actor and of those of its bucket; answers of how many. */
  #start(leader: Activation<State, Call, Answer>): number {
    const batch = this.#writer.batchOf(leader, ({ isBusy }) => !isBusy);
    this.#writer.store(batch).then(
      () => this.#continue(),
      // Tried again at the next sweep: a store that is down is not asked without pause.
      () => this.#ports.metrics.checkpointFailed(),
    );
    return batch.length;
  }

  /** Goes on with what is due; stores that answer at once must not keep the event loop for long. */
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
 * Spreads what has to be done within some time, and comes back for ever, evenly over it: of those
 * that wait the same share may begin in each part of the time. Without it what fell due together
 * once would be done together, and fall due together again, ever after.
 */
export class EvenPace {
  readonly #withinMs: number;
  #earned = 0;
  #earnedMs: number;

  constructor(withinMs: number, nowMs: number) {
    this.#withinMs = withinMs;
    this.#earnedMs = nowMs;
  }

  /** Time has passed (monotonic), with `waiting` actors due. */
  earn(waiting: number, nowMs: number): void {
    const earned = (waiting * (nowMs - this.#earnedMs)) / this.#withinMs;
    this.#earned = Math.min(waiting, this.#earned + earned);
    this.#earnedMs = nowMs;
  }

  /** Whether one more may begin although it is not due yet. */
  get mayBegin(): boolean {
    return this.#earned >= 1;
  }

  /** `count` have begun together, due or not; what they have taken too much the next ones wait for. */
  began(count = 1): void {
    this.#earned = Math.max(1 - count, this.#earned - count);
  }
}
