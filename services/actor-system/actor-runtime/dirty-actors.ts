import assert from 'node:assert/strict';
import type { Activation } from '#actor-runtime/activation';
import {
  EARLY_ROWS_BYTES_MAX,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import { Groups } from '#actor-runtime/commit-log';
import type { SideEffect } from '#actor-runtime/turn';
import type { Clock } from '#stdlib/clock';

/** Unstored changes of one actor. */
export type DirtyState = {
  /** Number of committed records that no checkpoint has stored. */
  records: number;
  /** Approximate bytes of these records, without early rows. */
  bytes: number;
  /** Log offset of the first unstored record. */
  firstOffset: number;
  /** Monotonic time of the first unstored record, in milliseconds. */
  sinceMs: number;
  isStoring: boolean;
  /** Whether the store has refused a write that included this actor. */
  isRefused: boolean;
  /** Bucket of the actor's stored state. */
  readonly bucket: number;
  /** Side effect that must be done before the actor's newest version is stored. */
  pendingEffect: SideEffect | undefined;
};

/** Dirty actors of one kind, ordered by their oldest change. */
export class DirtyActors<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #states = new Map<Activation<State, Call, Answer>, DirtyState>();
  readonly #buckets = new Groups<Activation<State, Call, Answer>>();
  readonly #shards = new Groups<Activation<State, Call, Answer>>();
  /**
   * Actors that must be stored soon, because a guarantee to callers or a side effect depends on the
   * checkpoint. The values are the starts of the wait (monotonic), oldest first.
   */
  readonly #urgent = new Map<Activation<State, Call, Answer>, number>();
  /** Bytes of early rows by bucket. */
  readonly early = new EarlyBytes<Activation<State, Call, Answer>>();
  #records = 0;
  #bytes = 0;

  readonly #earlyBytesMax: number;

  /** `earlyBytesMax`: maximum bytes of early rows. */
  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    clock: Pick<Clock, 'monotonicMs'>,
    earlyBytesMax = EARLY_ROWS_BYTES_MAX,
  ) {
    this.#kind = kind;
    this.#clock = clock;
    this.#earlyBytesMax = earlyBytesMax;
  }

  /** Fill of the room for early rows, not counting `bytesUnderWay`; 1 is full. */
  earlyFill(bytesUnderWay = 0): number {
    return (this.early.total - bytesUnderWay) / this.#earlyBytesMax;
  }

  /** Fill of the tail or of the early-row room, whichever is higher. At 1 new calls are refused. */
  get fill(): number {
    return Math.max(this.tail, this.earlyFill());
  }

  /** Number of dirty actors. */
  get size(): number {
    return this.#states.size;
  }

  /** Number of committed records that no checkpoint has stored. */
  get records(): number {
    return this.#records;
  }

  /** Total bytes of unstored changes. */
  get bytes(): number {
    return this.#bytes + this.early.total;
  }

  /** Monotonic time of the oldest unstored record, in milliseconds; undefined if there is none. */
  get oldestMs(): number | undefined {
    const [oldest] = this.#states.values();
    return oldest?.sinceMs;
  }

  /** Fill of the tail without early rows. At 1 the bound on records or on bytes is reached. */
  get tail(): number {
    return Math.max(this.#records / UNFLUSHED_RECORDS_MAX, this.#bytes / UNFLUSHED_BYTES_MAX);
  }

  /** Lowest log offset that a dirty actor still needs; infinite if there is none. */
  get lowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { firstOffset } of this.#states.values()) lowest = Math.min(lowest, firstOffset);
    return lowest;
  }

  /** All dirty actors, ordered by their oldest change. */
  actors(): MapIterator<Activation<State, Call, Answer>> {
    return this.#states.keys();
  }

  /** All dirty actors with their unstored changes, in the same order. */
  entries(): MapIterator<[Activation<State, Call, Answer>, DirtyState]> {
    return this.#states.entries();
  }

  /** Dirty actors of a bucket, ordered by their oldest change. */
  ofBucket(bucket: number): Iterable<Activation<State, Call, Answer>> {
    return this.#buckets.of(bucket);
  }

  /** Dirty actors of a shard, ordered by their oldest change. */
  ofShard(shard: number): Iterable<Activation<State, Call, Answer>> {
    return this.#shards.of(shard);
  }

  /**
   * Dirty actors that must be stored soon, with the start of the wait (monotonic), oldest first.
   */
  urgent(): MapIterator<[Activation<State, Call, Answer>, number]> {
    return this.#urgent.entries();
  }

  /** Unstored changes of an actor; undefined if the actor is clean. */
  stateOf(activation: Activation<State, Call, Answer>): DirtyState | undefined {
    return this.#states.get(activation);
  }

  /** Whether a checkpoint of the actor is in flight. */
  isStoring(activation: Activation<State, Call, Answer>): boolean {
    return this.#states.get(activation)?.isStoring ?? false;
  }

  /** Counts one more committed record of an actor. */
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void {
    this.#note(activation, 1, activation.offset, monotonicMs);
  }

  /**
   * Counts `records` recovered records that an actor has replayed. `offset` is the log offset of
   * these records, which are durable but in no checkpoint. `effect` is the side effect that the
   * records leave pending.
   */
  recovered(
    activation: Activation<State, Call, Answer>,
    records: number,
    offset: number,
    effect: SideEffect | undefined,
  ): void {
    const dirty = this.#note(activation, records, offset, this.#clock.monotonicMs());
    dirty.pendingEffect = effect;
    this.#noteUrgent(activation, dirty, this.#clock.monotonicMs());
  }

  /** Registers the side effect that an actor's newest record leaves pending. */
  effectPending(activation: Activation<State, Call, Answer>, effect: SideEffect): void {
    const dirty = this.#states.get(activation);
    assert(
      dirty !== undefined,
      'a side effect can only be pending for a record that is not stored',
    );
    dirty.pendingEffect = effect;
    this.#noteUrgent(activation, dirty, this.#clock.monotonicMs());
  }

  /** Clears the pending side effect, unless a newer effect has replaced it. */
  effectDone(activation: Activation<State, Call, Answer>, effect: SideEffect): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined || dirty.pendingEffect !== effect) return;
    dirty.pendingEffect = undefined;
    if (!this.#isUrgent(activation, dirty)) this.#urgent.delete(activation);
  }

  /**
   * Marks the actor's first `records` records, up to `offset`, as stored. `sinceMs` is the time of
   * the stored copy.
   */
  stored(
    activation: Activation<State, Call, Answer>,
    dirty: DirtyState,
    { records, offset, sinceMs }: { records: number; offset: number; sinceMs: number },
  ): void {
    this.#records -= records;
    dirty.records -= records;
    this.weigh(activation);
    this.#remove(activation, dirty);
    if (dirty.records === 0) return;
    dirty.firstOffset = offset + 1;
    dirty.sinceMs = sinceMs;
    this.#add(activation, dirty);
    this.#noteUrgent(activation, dirty, sinceMs);
  }

  /** Moves an actor whose write failed behind all others, including in the urgent queue. */
  postpone(activation: Activation<State, Call, Answer>, monotonicMs: number): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined) return;
    const isUrgent = this.#urgent.has(activation);
    this.#remove(activation, dirty);
    this.#add(activation, dirty);
    if (isUrgent) this.#urgent.set(activation, monotonicMs);
  }

  /** Forgets the unstored changes of an actor that another node owns or that will be recovered. */
  forget(activation: Activation<State, Call, Answer>): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined) return;
    this.#remove(activation, dirty);
    this.#records -= dirty.records;
    this.#bytes -= dirty.bytes;
    this.early.set(dirty.bucket, activation, 0);
  }

  /** Updates the bytes of an actor's unstored changes. A commit may also release memory. */
  weigh(activation: Activation<State, Call, Answer>): void {
    const dirty = this.#states.get(activation);
    if (dirty !== undefined) this.#weigh(activation, dirty);
  }

  #weigh(activation: Activation<State, Call, Answer>, dirty: DirtyState): void {
    const { state } = activation;
    const { sourcing } = this.#kind;
    const isHolding = state !== undefined && sourcing !== undefined && dirty.records > 0;
    const early = isHolding ? (sourcing.earlyRows?.sizeOf(state) ?? 0) : 0;
    const bytes = isHolding ? sourcing.sizeOfUnstored(state) - early : 0;
    this.early.set(dirty.bucket, activation, early);
    this.#bytes += bytes - dirty.bytes;
    dirty.bytes = bytes;
  }

  #note(
    activation: Activation<State, Call, Answer>,
    records: number,
    offset: number,
    monotonicMs: number,
  ): DirtyState {
    const dirty = this.#states.get(activation) ?? this.#begin(activation, offset, monotonicMs);
    dirty.records += records;
    this.#records += records;
    this.#weigh(activation, dirty);
    dirty.firstOffset = Math.min(dirty.firstOffset, offset);
    this.#noteUrgent(activation, dirty, monotonicMs);
    return dirty;
  }

  #begin(
    activation: Activation<State, Call, Answer>,
    firstOffset: number,
    sinceMs: number,
  ): DirtyState {
    const dirty = {
      records: 0,
      bytes: 0,
      firstOffset,
      sinceMs,
      isStoring: false,
      isRefused: false,
      bucket: this.#kind.sourcing?.bucketOf(activation.id) ?? 0,
      pendingEffect: undefined,
    };
    this.#add(activation, dirty);
    return dirty;
  }

  #add(activation: Activation<State, Call, Answer>, dirty: DirtyState): void {
    this.#states.set(activation, dirty);
    this.#buckets.add(dirty.bucket, activation);
    this.#shards.add(activation.shard, activation);
  }

  #remove(activation: Activation<State, Call, Answer>, { bucket }: DirtyState): void {
    this.#states.delete(activation);
    this.#urgent.delete(activation);
    this.#buckets.delete(bucket, activation);
    this.#shards.delete(activation.shard, activation);
  }

  #noteUrgent(
    activation: Activation<State, Call, Answer>,
    dirty: DirtyState,
    sinceMs: number,
  ): void {
    if (this.#urgent.has(activation) || !this.#isUrgent(activation, dirty)) return;
    this.#urgent.set(activation, sinceMs);
  }

  #isUrgent({ state }: Activation<State, Call, Answer>, { pendingEffect }: DirtyState): boolean {
    if (pendingEffect !== undefined) return true;
    return state !== undefined && this.#kind.sourcing?.isUrgent?.(state) === true;
  }
}

/** Bytes of early rows in one bucket, by actor. */
type Bucket<Actor> = Map<Actor, number>;

/** Bytes of early rows (`EarlyRows`) by bucket. The bucket that has waited longest comes first. */
class EarlyBytes<Actor> {
  readonly #buckets = new Map<number, Bucket<Actor>>();
  #total = 0;

  /** Bytes of all early rows. */
  get total(): number {
    return this.#total;
  }

  /** Sets the bytes of an actor. 0 removes the actor. */
  set(bucketId: number, actor: Actor, bytes: number): void {
    let bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) {
      if (bytes === 0) return;
      bucket = new Map();
      this.#buckets.set(bucketId, bucket);
    }
    this.#total += bytes - (bucket.get(actor) ?? 0);
    if (bytes === 0) bucket.delete(actor);
    else bucket.set(actor, bytes);
    if (bucket.size === 0) this.#buckets.delete(bucketId);
  }

  /** Bucket numbers; the bucket that has waited longest comes first. */
  buckets(): MapIterator<number> {
    return this.#buckets.keys();
  }

  /**
   * Oldest actors of a bucket: at most `count` actors with at most `bytesMax` together. Always
   * returns the first actor, even if it alone exceeds `bytesMax`.
   */
  oldestOf(bucketId: number, count: number, bytesMax: number): { actors: Actor[]; bytes: number } {
    const actors: Actor[] = [];
    let bytes = 0;
    for (const [actor, held] of this.#buckets.get(bucketId) ?? []) {
      const isTooMuch = actors.length === count || bytes + held > bytesMax;
      if (actors.length > 0 && isTooMuch) break;
      actors.push(actor);
      bytes += held;
    }
    return { actors, bytes };
  }

  /** Moves a bucket behind all others after a write of its rows. */
  postpone(bucketId: number): void {
    const bucket = this.#buckets.get(bucketId);
    if (bucket === undefined) return;
    this.#buckets.delete(bucketId);
    this.#buckets.set(bucketId, bucket);
  }
}
