import { sleep } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import {
  CHECKPOINT_AGE_MS,
  CHECKPOINT_SLICE_MS,
  CHECKPOINTS_IN_FLIGHT_MAX,
  RECENT_CALLS_AGE_MS,
} from '#runtime/bounds';
import { DirtyActors, type DirtyState } from '#runtime/dirty-actors';
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
  /** The account of what is not stored. */
  readonly dirty: DirtyActors<State, Call, Answer, Event>;
  /** Dirty actors that are about to leave memory, and so are due at any age. */
  readonly #leaving = new Set<Activation<State, Call, Answer>>();
  /** Stored actors that still remember call ids, and the monotonic time at which those are too old. */
  readonly #remembering = new Map<Activation<State, Call, Answer>, number>();
  readonly #pace: EvenPace;
  #inFlight = 0;
  #sliceStartMs = 0;

  /** `onStored` is notified of every actor that holds less now. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    onStored: (activation: Activation<State, Call, Answer>) => void = () => undefined,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.dirty = new DirtyActors(kind, ports.clock);
    this.#onStored = onStored;
    this.#pace = new EvenPace(CHECKPOINT_AGE_MS, ports.clock.monotonicMs());
  }

  /**
   * Starts the checkpoints that are due by age, tail or pace, as many as may be in flight: the old
   * ones first, because the journal cannot let go of anything behind them.
   */
  startDue(monotonicMs: number): void {
    // Those that leave have their own way out, and must not speed up the others.
    this.#pace.earn(Math.max(0, this.dirty.size - this.#leaving.size), monotonicMs);
    for (const [activation, dirty] of this.dirty.entries()) {
      if (!this.#hasRoom) return;
      if (!this.#mayBegin(dirty, monotonicMs)) break;
      if (activation.isBusy || dirty.isStoring) continue;
      this.#pace.began();
      this.#start(activation);
    }
    this.#startLeaving();
  }

  #mayBegin({ sinceMs }: DirtyState, monotonicMs: number): boolean {
    const isOld = monotonicMs - sinceMs >= CHECKPOINT_AGE_MS;
    return isOld || this.dirty.tail > 0.5 || this.#pace.mayBegin;
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

  /** One that has a turn or is being stored is left to its age, or to the next sweep. */
  #startLeaving(): void {
    for (const activation of this.#leaving) {
      if (!this.#hasRoom) return;
      this.#leaving.delete(activation);
      const isFree = this.dirty.stateOf(activation)?.isStoring === false;
      if (activation.isIdle && isFree) this.#start(activation);
    }
  }

  /**
   * Stores every dirty actor that is `wanted`, for a process that closes in good order or gives a
   * shard up. Rejects if a write fails.
   */
  async storeAll(wanted: (activation: Activation<State, Call, Answer>) => boolean): Promise<void> {
    for (;;) {
      const dirty = this.#wanted(wanted);
      if (dirty.length === 0) return;
      const some = dirty.filter((activation) => !this.dirty.isStoring(activation));
      // The bound is the process's: shards that close share it with the other checkpoints.
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
    for (const activation of this.#wanted(wanted)) {
      while (!this.#hasRoom) await sleep(this.#ports.clock, 1);
      if (activation.isBusy || this.dirty.stateOf(activation)?.isStoring !== false) continue;
      writes.push(this.#counted(activation).catch(() => this.#ports.metrics.checkpointFailed()));
    }
    await Promise.all(writes);
  }

  /** Forgets an actor that another node owns now, or that will be recovered from the journal. */
  abandon(activation: Activation<State, Call, Answer>): void {
    this.dirty.forget(activation);
    this.#leaving.delete(activation);
    this.#remembering.delete(activation);
  }

  #wanted(
    wanted: (activation: Activation<State, Call, Answer>) => boolean,
  ): Activation<State, Call, Answer>[] {
    return [...this.dirty.entries()].map(([activation]) => activation).filter(wanted);
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
    const { state, offset } = activation;
    const dirty = this.dirty.stateOf(activation);
    const { sourcing } = this.#kind;
    if (state === undefined || dirty === undefined || sourcing === undefined) return;
    const { records, pendingEffect } = dirty;
    const { clock, log } = this.#ports;
    const startedMs = clock.monotonicMs();
    const dirtyMs = startedMs - dirty.sinceMs;
    const now = { monotonicMs: startedMs, wallMs: clock.wallMs() };
    const recentCalls = log.isLasting ? activation.recentCalls(now) : [];
    const checkpoint = sourcing.checkpoint(activation.id, state, recentCalls);
    dirty.isStoring = true;
    try {
      await log.whenDurable(offset);
      // Once the journal is truncated nothing else says that this is still to be done.
      await pendingEffect?.();
      await checkpoint.write();
    } finally {
      dirty.isStoring = false;
    }
    const isAbandoned = this.dirty.stateOf(activation) !== dirty;
    if (isAbandoned) return;
    if (dirty.pendingEffect === pendingEffect) dirty.pendingEffect = undefined;
    checkpoint.forget(activation.state ?? state);
    this.#onStored(activation);
    this.#ports.metrics.checkpointed(dirtyMs / 1_000);
    this.dirty.stored(activation, dirty, { records, offset, sinceMs: startedMs });
    this.#forgetCalls(activation);
  }
}
