import assert from 'node:assert/strict';
import type { Clock } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import { UNFLUSHED_BYTES_MAX, UNFLUSHED_RECORDS_MAX } from '#runtime/bounds';
import { Groups } from '#runtime/commit-log';
import { EarlyBytes } from '#runtime/early-bytes';
import type { SideEffect } from '#runtime/turn';

/** What of an actor no checkpoint has stored. */
export type DirtyState = {
  /** Committed records that no checkpoint has stored, and roughly the bytes held but for early rows. */
  records: number;
  bytes: number;
  /** Log offset of the first of them. */
  firstOffset: number;
  /** Monotonic time of the first of them. */
  sinceMs: number;
  isStoring: boolean;
  /** Whether the store has refused a write that it was part of. */
  isRefused: boolean;
  /** Where its stored state lies. */
  readonly bucket: number;
  /** The side effect that must be done before the actor's newest version may count as stored. */
  pendingEffect: SideEffect | undefined;
};

/** Keeps account of the actors of one kind that are dirty, the oldest change first. */
export class DirtyActors<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #states = new Map<Activation<State, Call, Answer>, DirtyState>();
  readonly #buckets = new Groups<Activation<State, Call, Answer>>();
  readonly #shards = new Groups<Activation<State, Call, Answer>>();
  /** Those that a promise or a side effect waits for, and since when (monotonic), the oldest first. */
  readonly #urgent = new Map<Activation<State, Call, Answer>, number>();
  /** The account of early rows. */
  readonly early = new EarlyBytes<Activation<State, Call, Answer>>();
  #records = 0;
  #bytes = 0;

  constructor(kind: ActorKind<State, Call, Answer, Event>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#kind = kind;
    this.#clock = clock;
  }

  /** How many actors are dirty. */
  get size(): number {
    return this.#states.size;
  }

  /** Committed records that are in no checkpoint yet. */
  get records(): number {
    return this.#records;
  }

  /** Bytes that dirty actors hold until they are stored. */
  get bytes(): number {
    return this.#bytes + this.early.total;
  }

  /** Monotonic time of the oldest of those records; undefined: there is none. */
  get oldestMs(): number | undefined {
    const [oldest] = this.#states.values();
    return oldest?.sinceMs;
  }

  /** How full the tail is, but for early rows: 1 means that a bound, records or bytes, is reached. */
  get tail(): number {
    return Math.max(this.#records / UNFLUSHED_RECORDS_MAX, this.#bytes / UNFLUSHED_BYTES_MAX);
  }

  /** The lowest offset in the log that a dirty actor still needs; infinite for none. */
  get lowest(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { firstOffset } of this.#states.values()) lowest = Math.min(lowest, firstOffset);
    return lowest;
  }

  /** All dirty actors, the oldest change first. */
  actors(): MapIterator<Activation<State, Call, Answer>> {
    return this.#states.keys();
  }

  /** The same, with what of each is not stored. */
  entries(): MapIterator<[Activation<State, Call, Answer>, DirtyState]> {
    return this.#states.entries();
  }

  /** The dirty actors of a bucket, the oldest change first. */
  ofBucket(bucket: number): Iterable<Activation<State, Call, Answer>> {
    return this.#buckets.of(bucket);
  }

  /** Those of a shard, the oldest change first. */
  ofShard(shard: number): Iterable<Activation<State, Call, Answer>> {
    return this.#shards.of(shard);
  }

  /** The dirty actors that must be stored soon, and since when (monotonic), the oldest first. */
  urgent(): MapIterator<[Activation<State, Call, Answer>, number]> {
    return this.#urgent.entries();
  }

  /** What of an actor is not stored; undefined: it is not dirty. */
  stateOf(activation: Activation<State, Call, Answer>): DirtyState | undefined {
    return this.#states.get(activation);
  }

  /** Whether a checkpoint of the actor is under way. */
  isStoring(activation: Activation<State, Call, Answer>): boolean {
    return this.#states.get(activation)?.isStoring ?? false;
  }

  /** Notes that an actor has committed one more record. */
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void {
    this.#note(activation, 1, activation.offset, monotonicMs);
  }

  /**
   * Notes records that an actor has replayed, recovered at `offset`, and the side effect that they
   * leave pending, if any: durable and in no checkpoint.
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

  /** Notes the side effect that an actor's newest record leaves pending. */
  effectPending(activation: Activation<State, Call, Answer>, effect: SideEffect): void {
    const dirty = this.#states.get(activation);
    assert(dirty !== undefined, 'a side effect is pending only of a record that is not stored');
    dirty.pendingEffect = effect;
    this.#noteUrgent(activation, dirty, this.#clock.monotonicMs());
  }

  /** Notes that it is done. */
  effectDone(activation: Activation<State, Call, Answer>, effect: SideEffect): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined || dirty.pendingEffect !== effect) return;
    dirty.pendingEffect = undefined;
    if (!this.#isUrgent(activation, dirty)) this.#urgent.delete(activation);
  }

  /** Notes that the actor's first `records` are stored, those up to `offset`, as of `sinceMs`. */
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

  /** Puts an actor whose write has failed behind the others, also where it was urgent. */
  postpone(activation: Activation<State, Call, Answer>, monotonicMs: number): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined) return;
    const isUrgent = this.#urgent.has(activation);
    this.#remove(activation, dirty);
    this.#add(activation, dirty);
    if (isUrgent) this.#urgent.set(activation, monotonicMs);
  }

  /** Forgets what is not stored of an actor: another node owns it, or it will be recovered. */
  forget(activation: Activation<State, Call, Answer>): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined) return;
    this.#remove(activation, dirty);
    this.#records -= dirty.records;
    this.#bytes -= dirty.bytes;
    this.early.set(dirty.bucket, activation, 0);
  }

  /** Looks at what an actor holds now: a commit may also let go of what was held before. */
  weigh(activation: Activation<State, Call, Answer>): void {
    const dirty = this.#states.get(activation);
    if (dirty === undefined) return;
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
    this.weigh(activation);
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
