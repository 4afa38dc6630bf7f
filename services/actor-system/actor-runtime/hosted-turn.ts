import assert from 'node:assert/strict';
import type { Activation } from '#actor-runtime/activation';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import { RECORD_BYTES_MAX } from '#actor-runtime/bounds';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { Applied } from '#actor-runtime/event-sourcing';
import { encodeRecord } from '#actor-runtime/record-codec';
import type { SideEffect, Turn } from '#actor-runtime/turn';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';

/** Part of `DirtyActors` that a turn uses to track unstored commits. */
interface DirtyBook<State, Call, Answer> {
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void;
  effectPending(activation: Activation<State, Call, Answer>, effect: SideEffect): void;
  effectDone(activation: Activation<State, Call, Answer>, effect: SideEffect): void;
}

/** Turn on an activation: commits go to the process's log and change the actor's state. */
export class HostedTurn<State, Call extends ActorCall, Answer, Event>
  implements Turn<Event, Applied<State>>
{
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly earlierVersion: number | undefined;
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #activation: Activation<State, Call, Answer>;
  readonly #call: Pick<ActorCall, 'callId' | 'traceparent'>;
  readonly #log: CommitLog;
  readonly #book: DirtyBook<State, Call, Answer>;
  /** Log offset of this turn's own commit; infinite if the turn committed nothing. */
  #committedAt = Number.POSITIVE_INFINITY;
  /** Durability dependency of the answer. Undefined: the actor's newest record. */
  #dependsOn: number | undefined;
  /** Side effect to run before the answer leaves, if any. */
  #effect: SideEffect | undefined;

  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    activation: Activation<State, Call, Answer>,
    call: Pick<ActorCall, 'callId' | 'traceparent'>,
    clock: Clock,
    log: CommitLog,
    book: DirtyBook<State, Call, Answer>,
  ) {
    this.#kind = kind;
    this.#activation = activation;
    this.#call = call;
    this.#log = log;
    this.#book = book;
    this.wallMs = clock.wallMs();
    this.monotonicMs = clock.monotonicMs();
    this.earlierVersion = activation.versionOfCall(call.callId, this.monotonicMs);
  }

  /** State of the actor. A turn begins only when the actor is loaded. */
  get state(): State {
    const { state } = this.#activation;
    assert(state !== undefined, 'an actor has no turn before it is loaded');
    return state;
  }

  get version(): number {
    return this.#activation.version;
  }

  get offset(): number {
    return this.#activation.offset;
  }

  commit(event: Event): Applied<State> {
    const activation = this.#activation;
    const { sourcing } = this.#kind;
    assert(sourcing !== undefined, 'only a kind with events commits one');
    const { callId, traceparent } = this.#call;
    if (callId !== 0) activation.recent.assertRoom();
    this.#log.assertOpen();
    const bytes = sourcing.sizeOfRecord(event);
    assert(bytes <= RECORD_BYTES_MAX, 'the API takes no body that makes a larger record');
    const version = activation.version + 1;
    // A journal that does not last is never read back, so the record has no text.
    const line = this.#log.isLasting ? this.#lineOf(sourcing.recordOf(event), version) : '';
    const applied = sourcing.apply(this.state, event, version, activation.id);
    activation.state = applied.state;
    activation.version = version;
    activation.offset = this.#log.add(line, traceparent);
    this.#committedAt = activation.offset;
    if (callId !== 0) activation.recent.add(callId, version, this.monotonicMs);
    this.#book.changed(activation, this.monotonicMs);
    return applied;
  }

  dependOn(offset: number): void {
    this.#assertWaitable(offset);
    this.#dependsOn = offset;
  }

  beforeAnswer(effect: SideEffect): void {
    this.#effect = effect;
    const hasCommitted = this.#committedAt !== Number.POSITIVE_INFINITY;
    if (hasCommitted) this.#book.effectPending(this.#activation, effect);
  }

  /**
   * Whether the answer may leave at once: its dependency is durable, this node is still the owner,
   * and no side effect is pending.
   */
  get isAnswerable(): boolean {
    const offset = this.#dependsOn ?? this.#activation.offset;
    return (
      this.#effect === undefined &&
      this.#log.isDurable(offset) &&
      (offset >= this.#committedAt || this.#log.isLeased())
    );
  }

  /**
   * Fulfils when three conditions hold: everything up to `offset` (or the smaller dependency) is
   * durable, no other node can have taken the actor over since the turn, and the side effect is
   * done.
   *
   * Rejects with an unknown outcome otherwise. The turn has happened, and a retry gets its answer
   * later.
   */
  async whenAnswerable(offset: number): Promise<void> {
    const needed = this.#dependsOn ?? offset;
    // `dependOn` has checked its offset already, before the turn went on.
    if (this.#dependsOn === undefined && needed < this.#committedAt) this.#assertWaitable(needed);
    await this.#log.whenDurable(needed);
    // An own commit proves that the turn's state was the latest. Any other answer needs a read
    // lease.
    if (needed < this.#committedAt && !this.#log.isLeased()) await this.#log.whenConfirmed();
    const effect = this.#effect;
    if (effect === undefined) return;
    await effect().catch((error: unknown) => {
      throw stillPending(error);
    });
    this.#book.effectDone(this.#activation, effect);
  }

  /** Throws what a commit would, if the wait for `offset` may never end because appends fail. */
  #assertWaitable(offset: number): void {
    if (!this.#log.isDurable(offset) && this.#log.isHeldUp) this.#log.assertOpen();
  }

  #lineOf(event: unknown, version: number): string {
    return encodeRecord({
      actor: this.#kind.name,
      actorId: this.#activation.id,
      version,
      callId: this.#call.callId,
      atMs: this.wallMs,
      event,
    });
  }
}

/**
 * Fault while the side effect of a committed turn is pending. The effect's own fault becomes only
 * the cause: its reason and owner refer to another actor.
 */
function stillPending(cause: unknown): Fault {
  const options = { retryAfterS: 1, isOutcomeUnknown: true, cause } as const;
  if (toFault(cause).code !== 'service_unavailable') {
    return new Fault('internal', 'done, but not all that follows from it', options);
  }
  return faultFor('engine_unavailable', 'committed; what must follow is not done yet', options);
}
