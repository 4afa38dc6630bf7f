import { sleep } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINT_SLICE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
  RECENT_CALLS_AGE_MS,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#runtime/bounds';
import { EvenPace } from '#runtime/even-pace';
import type { ActorHostPorts } from '#runtime/host-ports';

/**
 * Stores dirty actors late (architecture 3.2): when one has been dirty for 20 s, or is the oldest
 * while the unflushed tail is over half its bound, or is about to leave memory. Of many the oldest
 * begin earlier, so that the store has about the same to do all the time (decision 127). Only
 * durable state is ever stored; a failed write leaves the actor dirty and is tried again.
 */
export class Checkpointer<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #onStored: (activation: Activation<State, Call, Answer>) => void;
  /** Oldest change first. */
  readonly #dirty = new Set<Activation<State, Call, Answer>>();
  /** Dirty actors that are about to leave memory, and so are due at any age. */
  readonly #leaving = new Set<Activation<State, Call, Answer>>();
  /** Stored actors that still remember call ids, and the monotonic time at which those are too old. */
  readonly #remembering = new Map<Activation<State, Call, Answer>, number>();
  readonly #pace: EvenPace;
  #inFlight = 0;
  #sliceStartMs = 0;
  #unflushedRecords = 0;
  #unflushedBytes = 0;

  /** `onStored` is told of every actor that holds less now. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    onStored: (activation: Activation<State, Call, Answer>) => void = () => undefined,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.#onStored = onStored;
    this.#pace = new EvenPace(CHECKPOINT_AGE_MS, ports.clock.monotonicMs());
  }

  /** Committed records that are in no checkpoint yet. */
  get unflushedRecords(): number {
    return this.#unflushedRecords;
  }

  /** How full the tail is: 1 means that a bound, records or bytes, is reached. */
  get tail(): number {
    const records = this.#unflushedRecords / UNFLUSHED_RECORDS_MAX;
    return Math.max(records, this.#unflushedBytes / UNFLUSHED_BYTES_MAX);
  }

  /** Bytes that dirty actors hold until they are stored. */
  get unflushedBytes(): number {
    return this.#unflushedBytes;
  }

  /** Notes that an actor has committed one more record. */
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void {
    this.#note(activation, 1, activation.offset, monotonicMs);
  }

  /** Notes records that an actor ran again, recovered at `offset`: durable and in no checkpoint. */
  recovered(activation: Activation<State, Call, Answer>, records: number, offset: number): void {
    this.#note(activation, records, offset, this.#ports.clock.monotonicMs());
  }

  /** The lowest offset in the log that a dirty actor still needs; infinite for none. */
  get lowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { firstUnflushedOffset = lowest } of this.#dirty) {
      lowest = Math.min(lowest, firstUnflushedOffset);
    }
    return lowest;
  }

  #note(
    activation: Activation<State, Call, Answer>,
    records: number,
    offset: number,
    monotonicMs: number,
  ): void {
    activation.unflushed += records;
    this.#unflushedRecords += records;
    this.#weigh(activation);
    activation.firstUnflushedOffset = Math.min(activation.firstUnflushedOffset ?? offset, offset);
    if (activation.dirtySinceMs !== undefined) return;
    activation.dirtySinceMs = monotonicMs;
    this.#dirty.add(activation);
  }

  /** Looks at what the actor holds now: a commit may also let go of what was held before. */
  #weigh(activation: Activation<State, Call, Answer>): void {
    const { state, unflushed } = activation;
    const isHolding = state !== undefined && unflushed > 0;
    const bytes = isHolding ? (this.#kind.sourcing?.sizeOfUnstored(state) ?? 0) : 0;
    this.#unflushedBytes += bytes - activation.unflushedBytes;
    activation.unflushedBytes = bytes;
  }

  /**
   * Starts the checkpoints that are due by age, tail or pace, as many as may be in flight: the old
   * ones first, because the journal cannot let go of anything behind them.
   */
  startDue(monotonicMs: number): void {
    // Those that leave have their own way out, and must not speed up the others.
    this.#pace.earn(Math.max(0, this.#dirty.size - this.#leaving.size), monotonicMs);
    for (const activation of this.#dirty) {
      if (!this.#hasRoom) return;
      if (!this.#mayBegin(activation, monotonicMs)) break;
      if (activation.isBusy || activation.isCheckpointing) continue;
      this.#pace.began();
      this.#start(activation);
    }
    this.#startLeaving();
  }

  #mayBegin({ dirtySinceMs }: Activation<State, Call, Answer>, monotonicMs: number): boolean {
    const isOld = monotonicMs - (dirtySinceMs ?? monotonicMs) >= CHECKPOINT_AGE_MS;
    return isOld || this.tail > 0.5 || this.#pace.mayBegin;
  }

  get #hasRoom(): boolean {
    return this.#inFlight < CHECKPOINTS_IN_FLIGHT_MAX;
  }

  /** Frees the call ids of stored actors once they are too old to matter, so that idle ones are small. */
  forgetOldCalls(monotonicMs: number): void {
    for (const [activation, dueMs] of this.#remembering) {
      if (dueMs > monotonicMs) return;
      this.#remembering.delete(activation);
      activation.trim(monotonicMs);
    }
  }

  /** Stores an actor that is about to leave memory as soon as there is room, whatever its age. */
  storeSoon(activation: Activation<State, Call, Answer>): void {
    this.#leaving.add(activation);
    this.#startLeaving();
  }

  /** One that has a turn or is stored just then is left to its age, or to the next sweep. */
  #startLeaving(): void {
    for (const activation of this.#leaving) {
      if (!this.#hasRoom) return;
      this.#leaving.delete(activation);
      if (activation.isIdle && activation.unflushed > 0) this.#start(activation);
    }
  }

  /**
   * Stores every dirty actor that is `wanted`, for a process that closes in good order or gives a
   * shard up. Rejects if a write fails.
   */
  async storeAll(wanted: (activation: Activation<State, Call, Answer>) => boolean): Promise<void> {
    for (;;) {
      const dirty = [...this.#dirty].filter(wanted);
      if (dirty.length === 0) return;
      const some = dirty.filter(({ isCheckpointing }) => !isCheckpointing);
      // The bound is the process's: shards that close share it with everybody else.
      const due = some.slice(0, Math.max(0, CHECKPOINTS_IN_FLIGHT_MAX - this.#inFlight));
      await Promise.all(due.map((activation) => this.#counted(activation)));
      if (due.length === 0) await sleep(this.#ports.clock, 1);
    }
  }

  /**
   * Stores every dirty actor that is `wanted`, once and while it goes on serving, so that little is
   * left for `storeAll`. What fails stays dirty.
   */
  async storeAhead(
    wanted: (activation: Activation<State, Call, Answer>) => boolean,
  ): Promise<void> {
    const writes: Promise<void>[] = [];
    for (const activation of [...this.#dirty].filter(wanted)) {
      while (!this.#hasRoom) await sleep(this.#ports.clock, 1);
      const { isBusy, isCheckpointing, isAbandoned } = activation;
      if (isBusy || isCheckpointing || isAbandoned) continue;
      writes.push(this.#counted(activation).catch(() => this.#ports.metrics.checkpointFailed()));
    }
    await Promise.all(writes);
  }

  /** Forgets an actor that is somebody else's now, or will be recovered from the journal. */
  abandon(activation: Activation<State, Call, Answer>): void {
    this.#dirty.delete(activation);
    this.#leaving.delete(activation);
    this.#remembering.delete(activation);
    this.#unflushedRecords -= activation.unflushed;
    this.#unflushedBytes -= activation.unflushedBytes;
    activation.unflushed = 0;
    activation.unflushedBytes = 0;
    activation.isAbandoned = true;
  }

  #start(activation: Activation<State, Call, Answer>): void {
    this.#counted(activation).then(
      () => this.#continue(),
      // Tried again at the next sweep: a store that is down is not asked without pause.
      () => this.#ports.metrics.checkpointFailed(),
    );
  }

  async #counted(activation: Activation<State, Call, Answer>): Promise<void> {
    this.#inFlight += 1;
    try {
      await this.#store(activation);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #forgetCalls(activation: Activation<State, Call, Answer>): void {
    const nowMs = this.#ports.clock.monotonicMs();
    activation.trim(nowMs);
    this.#remembering.delete(activation);
    if (activation.hasRecentCalls) {
      this.#remembering.set(activation, nowMs + RECENT_CALLS_AGE_MS + 1);
    }
  }

  /** Goes on with what is due; stores that answer at once must not keep the event loop for long. */
  #continue(): void {
    if (this.#inFlight > 0) return;
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

  async #store(activation: Activation<State, Call, Answer>): Promise<void> {
    const { state, offset, unflushed, pendingEffect } = activation;
    const { sourcing } = this.#kind;
    if (state === undefined || sourcing === undefined) return;
    const { clock, log } = this.#ports;
    const startedMs = clock.monotonicMs();
    const dirtyMs = startedMs - (activation.dirtySinceMs ?? startedMs);
    const now = { monotonicMs: startedMs, wallMs: clock.wallMs() };
    const recentCalls = log.isLasting ? activation.recentCalls(now) : [];
    const checkpoint = sourcing.checkpoint(activation.id, state, recentCalls);
    activation.isCheckpointing = true;
    try {
      await log.whenDurable(offset);
      // Once the journal has let go of the records nobody would know that this is still to be done.
      await pendingEffect?.();
      await checkpoint.write();
    } finally {
      activation.isCheckpointing = false;
    }
    if (activation.isAbandoned) return;
    if (activation.pendingEffect === pendingEffect) activation.pendingEffect = undefined;
    checkpoint.forget(activation.state ?? state);
    this.#onStored(activation);
    this.#ports.metrics.checkpointed(dirtyMs / 1_000);
    this.#unflushedRecords -= unflushed;
    activation.unflushed -= unflushed;
    this.#weigh(activation);
    this.#dirty.delete(activation);
    activation.dirtySinceMs = undefined;
    activation.firstUnflushedOffset = undefined;
    this.#forgetCalls(activation);
    if (activation.unflushed > 0) {
      activation.firstUnflushedOffset = offset + 1;
      activation.dirtySinceMs = startedMs;
      this.#dirty.add(activation);
    }
  }
}
