import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import {
  CHECKPOINT_SLICE_MS,
  EARLY_ROWS_BYTES_MAX,
  EARLY_WRITE_BYTES_MAX,
  EARLY_WRITES_IN_FLIGHT_MAX,
  TAIL_FILL_DUE,
} from '#runtime/bounds';
import type { DirtyActors, DirtyState } from '#runtime/dirty-actors';
import type { Checkpoint } from '#runtime/event-sourcing';
import type { ActorHostPorts } from '#runtime/host-ports';
import { HEADS_MAX } from '#storage/ports/instances';

/** The early rows of one actor on their way to the store. */
type Part<State, Call, Answer> = {
  readonly activation: Activation<State, Call, Answer>;
  readonly dirty: DirtyState;
  readonly rows: Checkpoint<State>;
};

/**
 * Stores early rows, many of a bucket in one write, while they take more than half of the room that
 * is theirs: large rows must not bring the checkpoints of their actors forward (decision 203). Only
 * rows of durable records are stored; what a write that fails was to store is still held.
 */
export class EarlyWriter<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #dirty: DirtyActors<State, Call, Answer, Event>;
  readonly #onStored: (activation: Activation<State, Call, Answer>) => void;
  readonly #bytesMax: number;
  /** Buckets that are being written, and how many bytes of each. */
  readonly #storing = new Map<number, number>();

  /** `onStored` is notified of every actor that holds less now. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    ports: ActorHostPorts,
    dirty: DirtyActors<State, Call, Answer, Event>,
    onStored: (activation: Activation<State, Call, Answer>) => void,
    bytesMax = EARLY_ROWS_BYTES_MAX,
  ) {
    this.#kind = kind;
    this.#ports = ports;
    this.#dirty = dirty;
    this.#onStored = onStored;
    this.#bytesMax = bytesMax;
  }

  /** How full the room for early rows is: 1 means that it is full. */
  get fill(): number {
    return this.#dirty.early.total / this.#bytesMax;
  }

  /** Starts the writes that are due; `onWritten` is notified of each that has succeeded. */
  startDue(onWritten: () => void): void {
    const { clock } = this.#ports;
    const begunMs = clock.monotonicMs();
    for (const bucket of this.#dirty.early.buckets()) {
      const hasRoom = this.#storing.size < EARLY_WRITES_IN_FLIGHT_MAX;
      const hasTime = clock.monotonicMs() - begunMs < CHECKPOINT_SLICE_MS;
      if (!this.#isDue || !hasRoom || !hasTime) return;
      if (this.#storing.has(bucket)) continue;
      // Tried again at the next sweep: a store that is down is not asked without pause.
      this.#store(bucket).then(onWritten, () => this.#ports.metrics.checkpointFailed());
    }
  }

  /** Whether what is not on its way takes too much of the room. */
  get #isDue(): boolean {
    const underWay = [...this.#storing.values()].reduce((sum, bytes) => sum + bytes, 0);
    return this.#dirty.early.total - underWay > this.#bytesMax * TAIL_FILL_DUE;
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

  /** Whether no other node has it meanwhile, and it has not been activated again. */
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
