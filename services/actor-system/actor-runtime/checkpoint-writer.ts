import type { Activation } from '#actor-runtime/activation';
import {
  CHECKPOINTS_IN_FLIGHT_MAX,
  LONE_CHECKPOINTS_IN_FLIGHT_MAX,
  RECENT_CALLS_AGE_MS,
} from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type { DirtyActors, DirtyState } from '#actor-runtime/dirty-actors';
import type { Checkpoint } from '#actor-runtime/event-sourcing';
import type { ActorHostPorts } from '#actor-runtime/host-ports';
import type { SideEffect } from '#actor-runtime/turn';
import { Fault, toFault } from '#errors/fault';
import { instantOf } from '#stdlib/clock';
import { HEADS_BYTES_MAX, HEADS_MAX } from '#storage/ports/instances';

/**
 * Copy of one actor for a write, with the records, offset and side effect that the write covers.
 */
type Part<State, Call, Answer> = {
  readonly activation: Activation<State, Call, Answer>;
  readonly dirty: DirtyState;
  readonly checkpoint: Checkpoint<State>;
  readonly records: number;
  readonly offset: number;
  readonly pendingEffect: SideEffect | undefined;
  /** Fulfils when the notices of the records are sent; undefined if they are sent. */
  readonly sent: Promise<void> | undefined;
  readonly takenMs: number;
};

/**
 * Stores copies of dirty actors. Several actors of one bucket share a write. Only durable state is
 * stored. If a write fails, all its actors stay dirty. Source: architecture 3.2.
 */
export class CheckpointWriter<State, Call extends ActorCall, Answer, Event> {
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #ports: ActorHostPorts;
  readonly #dirty: DirtyActors<State, Call, Answer, Event>;
  readonly #onStored: (activation: Activation<State, Call, Answer>) => void;
  /** Stored actors that remember call ids, with the monotonic time at which these ids expire. */
  readonly #remembering = new Map<Activation<State, Call, Answer>, number>();
  #inFlight = 0;
  #loneInFlight = 0;

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

  /** Whether another write may start. */
  get hasRoom(): boolean {
    return this.#inFlight < CHECKPOINTS_IN_FLIGHT_MAX;
  }

  /** Whether another write for this actor may start, alone or together with other actors. */
  hasRoomFor(activation: Activation<State, Call, Answer>, dirty: DirtyState): boolean {
    if (!this.hasRoom) return false;
    if (this.#isShareable(activation, dirty)) return true;
    return this.#loneInFlight < LONE_CHECKPOINTS_IN_FLIGHT_MAX;
  }

  /**
   * Dirty actors to store in one write with `leader`: the oldest actors of its bucket that pass
   * `mayCome`, up to the bounds of a write. An actor is written alone if it has a pending side
   * effect or unsent notices, or if the store refused its last write. Such an actor would delay the
   * others.
   */
  batchOf(
    leader: Activation<State, Call, Answer>,
    mayCome: (activation: Activation<State, Call, Answer>) => boolean,
  ): Activation<State, Call, Answer>[] {
    const batch = [leader];
    const first = this.#dirty.stateOf(leader);
    if (first === undefined || !this.#isShareable(leader, first)) return batch;
    let { bytes } = first;
    for (const mate of this.#dirty.ofBucket(first.bucket)) {
      const dirty = this.#dirty.stateOf(mate);
      if (mate === leader || dirty === undefined || dirty.isStoring) continue;
      if (!this.#isShareable(mate, dirty) || !mayCome(mate)) continue;
      bytes += dirty.bytes;
      if (bytes > HEADS_BYTES_MAX) break;
      batch.push(mate);
      if (batch.length === HEADS_MAX) break;
    }
    return batch;
  }

  /** Stores the dirty actors of `batch`. All belong to one bucket. Rejects if the write fails. */
  async store(batch: readonly Activation<State, Call, Answer>[]): Promise<void> {
    const lone = batch.some((activation) => this.#isLone(activation)) ? 1 : 0;
    const parts: Part<State, Call, Answer>[] = [];
    this.#inFlight += 1;
    this.#loneInFlight += lone;
    const span = this.#ports.tracer?.work({ name: 'checkpoint', kind: 'internal' });
    try {
      for (const activation of batch) parts.push(...this.#partsOf(activation));
      await this.#write(parts);
      span?.end({ attributes: this.#attributesOf(parts) });
    } catch (fault) {
      span?.end({ attributes: this.#attributesOf(parts), error: toFault(fault).code });
      this.#failed(batch, fault);
      throw fault;
    } finally {
      for (const part of parts) part.dirty.isStoring = false;
      this.#inFlight -= 1;
      this.#loneInFlight -= lone;
    }
    for (const part of parts) this.#stored(part);
  }

  #attributesOf(parts: readonly Part<State, Call, Answer>[]) {
    const records = parts.reduce((sum, part) => sum + part.records, 0);
    return {
      'identity.actor.kind': this.#kind.name,
      'identity.actors': parts.length,
      'identity.journal.records': records,
    };
  }

  /** Frees expired call ids of stored actors, so that idle actors are small. */
  forgetOldCalls(monotonicMs: number): void {
    for (const [activation, dueMs] of this.#remembering) {
      if (dueMs > monotonicMs) return;
      this.#remembering.delete(activation);
      activation.trim(monotonicMs);
    }
  }

  /** Forgets an actor that is no longer in memory. */
  abandon(activation: Activation<State, Call, Answer>): void {
    this.#remembering.delete(activation);
  }

  /**
   * An actor that cannot be stored must not block others: it is written alone, at the end of the
   * queue.
   */
  #failed(batch: readonly Activation<State, Call, Answer>[], fault: unknown): void {
    const isDown = fault instanceof Fault && fault.code === 'service_unavailable';
    for (const activation of batch) {
      const dirty = this.#dirty.stateOf(activation);
      if (dirty === undefined) continue;
      dirty.isRefused ||= !isDown;
      if (this.#isLone(activation)) {
        this.#dirty.postpone(activation, this.#ports.clock.monotonicMs());
      }
    }
  }

  /**
   * Copies an actor synchronously, so that no turn changes it meanwhile. Empty if the actor has
   * nothing to store.
   */
  #partsOf(activation: Activation<State, Call, Answer>): Part<State, Call, Answer>[] {
    const { id, state, offset } = activation;
    const dirty = this.#dirty.stateOf(activation);
    const { sourcing } = this.#kind;
    if (state === undefined || dirty === undefined || sourcing === undefined) return [];
    const { clock, log } = this.#ports;
    const now = instantOf(clock);
    const recentCalls = log.isLasting ? activation.recentCalls(now) : [];
    const checkpoint = sourcing.checkpoint(id, state, recentCalls);
    dirty.isStoring = true;
    const { records, pendingEffect } = dirty;
    const takenMs = now.monotonicMs;
    const sent = this.#ports.outbox?.whenSent(id);
    // The write may fail before it awaits this promise.
    sent?.catch(() => undefined);
    return [{ activation, dirty, checkpoint, records, offset, pendingEffect, sent, takenMs }];
  }

  /** Whether an actor may share a write with others. */
  #isShareable({ id }: Activation<State, Call, Answer>, dirty: DirtyState): boolean {
    const { pendingEffect, isRefused } = dirty;
    return pendingEffect === undefined && !isRefused && this.#ports.outbox?.has(id) !== true;
  }

  #isLone(activation: Activation<State, Call, Answer>): boolean {
    const dirty = this.#dirty.stateOf(activation);
    return dirty !== undefined && !this.#isShareable(activation, dirty);
  }

  async #write(parts: readonly Part<State, Call, Answer>[]): Promise<void> {
    const { sourcing } = this.#kind;
    if (sourcing === undefined || parts.length === 0) return;
    await this.#ports.log.whenDurable(Math.max(...parts.map(({ offset }) => offset)));
    // Run pending effects and send notices before the write. Once the journal is truncated, no
    // record of them remains.
    for (const { pendingEffect, sent } of parts) {
      if (pendingEffect !== undefined) await pendingEffect();
      if (sent !== undefined) await sent;
    }
    const present = parts.filter((part) => !this.#isAbandoned(part));
    if (present.length > 0) await sourcing.store(present.map(({ checkpoint }) => checkpoint.copy));
  }

  /** Whether another node owns the actor now, or a newer activation replaced this activation. */
  #isAbandoned({ activation, dirty }: Part<State, Call, Answer>): boolean {
    return this.#dirty.stateOf(activation) !== dirty;
  }

  #stored(part: Part<State, Call, Answer>): void {
    if (this.#isAbandoned(part)) return;
    const { activation, dirty, checkpoint, records, offset, pendingEffect, takenMs } = part;
    if (dirty.pendingEffect === pendingEffect) dirty.pendingEffect = undefined;
    dirty.isRefused = false;
    const dirtyMs = takenMs - dirty.sinceMs;
    if (activation.state !== undefined) checkpoint.forget(activation.state);
    this.#onStored(activation);
    this.#ports.metrics.checkpointed(dirtyMs / 1_000);
    this.#dirty.stored(activation, dirty, { records, offset, sinceMs: takenMs });
    this.#forgetCalls(activation);
  }

  #forgetCalls(activation: Activation<State, Call, Answer>): void {
    const nowMs = this.#ports.clock.monotonicMs();
    activation.trim(nowMs);
    this.#remembering.delete(activation);
    if (activation.hasRecentCalls) {
      this.#remembering.set(activation, nowMs + RECENT_CALLS_AGE_MS + 1);
    }
  }
}
