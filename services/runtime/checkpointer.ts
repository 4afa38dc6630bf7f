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
import type { ActorHostPorts } from '#runtime/host-ports';

/**
 * Stores dirty actors late and together (architecture 3.2): when one has been dirty for 20 s, or
 * is the oldest while the unflushed tail is over half its bound, or is about to leave memory.
 * Only durable state is ever stored; a failed write leaves the actor dirty and is tried again.
 */
export class Checkpointer<State, Call extends ActorCall, Answer, Operation> {
  readonly #kind: ActorKind<State, Call, Answer, Operation>;
  readonly #ports: ActorHostPorts;
  /** Oldest change first. */
  readonly #dirty = new Set<Activation<State, Call, Answer>>();
  /** Stored actors that still remember call ids, and the monotonic time at which those are too old. */
  readonly #remembering = new Map<Activation<State, Call, Answer>, number>();
  #inFlight = 0;
  #sliceStartMs = 0;
  #unflushedRecords = 0;
  #unflushedBytes = 0;

  constructor(kind: ActorKind<State, Call, Answer, Operation>, ports: ActorHostPorts) {
    this.#kind = kind;
    this.#ports = ports;
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

  /** Notes that an actor has committed one more record, of roughly so many bytes. */
  changed(
    activation: Activation<State, Call, Answer>,
    recordBytes: number,
    monotonicMs: number,
  ): void {
    activation.unflushed += 1;
    activation.unflushedBytes += recordBytes;
    this.#unflushedRecords += 1;
    this.#unflushedBytes += recordBytes;
    if (activation.dirtySinceMs !== undefined) return;
    activation.dirtySinceMs = monotonicMs;
    this.#dirty.add(activation);
  }

  /** Starts the checkpoints that are due, as many as may be in flight. */
  startDue(monotonicMs: number): void {
    for (const activation of this.#dirty) {
      if (this.#inFlight >= CHECKPOINTS_IN_FLIGHT_MAX) return;
      const ageMs = monotonicMs - (activation.dirtySinceMs ?? monotonicMs);
      const isTailLong = this.tail > 0.5;
      if (ageMs < CHECKPOINT_AGE_MS && !isTailLong) return;
      if (activation.isBusy || activation.isCheckpointing) continue;
      this.#start(activation);
    }
  }

  /** Frees the call ids of stored actors once they are too old to matter, so that idle ones are small. */
  forgetOldCalls(monotonicMs: number): void {
    for (const [activation, dueMs] of this.#remembering) {
      if (dueMs > monotonicMs) return;
      this.#remembering.delete(activation);
      activation.trim(monotonicMs);
    }
  }

  /** Starts a checkpoint of an actor that is about to leave memory, if there is room for one. */
  startNow(activation: Activation<State, Call, Answer>): void {
    if (this.#inFlight < CHECKPOINTS_IN_FLIGHT_MAX && !activation.isCheckpointing) {
      this.#start(activation);
    }
  }

  /** Stores everything, for a process that closes in good order. Rejects if a write fails. */
  async storeAll(): Promise<void> {
    while (this.#dirty.size > 0) {
      const some = [...this.#dirty].slice(0, CHECKPOINTS_IN_FLIGHT_MAX);
      await Promise.all(some.map((activation) => this.#store(activation)));
    }
  }

  #start(activation: Activation<State, Call, Answer>): void {
    this.#inFlight += 1;
    this.#store(activation).then(
      () => {
        this.#inFlight -= 1;
        this.#continue();
      },
      () => {
        // Tried again at the next sweep: a store that is down is not asked without pause.
        this.#inFlight -= 1;
        this.#ports.metrics.checkpointFailed();
      },
    );
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
    const { state, version, position, unflushed, unflushedBytes } = activation;
    if (state === undefined) return;
    const startedMs = this.#ports.clock.monotonicMs();
    const dirtyMs = startedMs - (activation.dirtySinceMs ?? startedMs);
    const checkpoint = this.#kind.checkpoint(activation.id, state, version);
    activation.isCheckpointing = true;
    try {
      await this.#ports.log.whenDurable(position);
      await checkpoint.write();
    } finally {
      activation.isCheckpointing = false;
    }
    checkpoint.forget();
    this.#ports.metrics.checkpointed(dirtyMs / 1_000);
    this.#unflushedRecords -= unflushed;
    this.#unflushedBytes -= unflushedBytes;
    activation.unflushed -= unflushed;
    activation.unflushedBytes -= unflushedBytes;
    this.#dirty.delete(activation);
    activation.dirtySinceMs = undefined;
    this.#forgetCalls(activation);
    if (activation.unflushed > 0) {
      activation.dirtySinceMs = startedMs;
      this.#dirty.add(activation);
    }
  }
}
