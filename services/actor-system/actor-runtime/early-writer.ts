import type { Activation } from '#actor-runtime/activation';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import {
  CHECKPOINT_SLICE_MS,
  EARLY_ROWS_BYTES_MAX,
  EARLY_WRITE_BYTES_MAX,
  EARLY_WRITES_IN_FLIGHT_MAX,
  TAIL_FILL_DUE,
} from '#actor-runtime/bounds';
import type { DirtyActors, DirtyState } from '#actor-runtime/dirty-actors';
import type { Checkpoint } from '#actor-runtime/event-sourcing';
import type { ActorHostPorts } from '#actor-runtime/host-ports';
import { HEADS_MAX } from '#storage/ports/instances';

/** Copy of one actor's early rows for a write. */
type Part<State, Call, Answer> = {
  readonly activation: Activation<State, Call, Answer>;
  readonly dirty: DirtyState;
  readonly rows: Checkpoint<State>;
};

/**
 * Stores early rows, many of a bucket in one write, while they fill more than half of their room.
 * Large rows then do not bring the checkpoints of their actors forward (decision 203). Stores rows
 * of durable records only. After a failed write the rows stay in memory.
 */
export class EarlyWriter<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #dirty: DirtyActors<State, Call, Answer, Event>;
  readonly #onStored: (activation: Activation<State, Call, Answer>) => void;
  readonly #bytesMax: number;
  /** Bytes in flight, by bucket. */
  readonly #storing = new Map<number, number>();

  /** `onStored` is called for every actor that holds less memory after a write. */
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

  /** Fill of the room for early rows; 1 is full. */
  get fill(): number {
    return this.#dirty.early.total / this.#bytesMax;
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
      // The next sweep retries: a store that is down must not be called in a tight loop.
      this.#store(bucket).then(onWritten, () => this.#ports.metrics.checkpointFailed());
    }
  }

  /** Whether the early rows that are not in flight exceed their share of the room. */
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

  /**
   * Whether this activation is still dirty here: no other node owns it and no newer one replaced
   * it.
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
