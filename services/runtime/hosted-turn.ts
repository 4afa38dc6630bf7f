import assert from 'node:assert/strict';
import { Fault, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind, SideEffect } from '#runtime/actor-kind';
import { RECORD_BYTES_MAX } from '#runtime/bounds';
import type { CommitLog } from '#runtime/commit-log';
import { encodeRecord } from '#runtime/record-codec';
import type { Turn } from '#runtime/turn';

/** Whoever keeps account of what is committed but not stored. */
export interface DirtyBook<State, Call, Answer> {
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void;
}

/** A turn on a real activation: commits go to the process's log and into the actor's state. */
export class HostedTurn<State, Call extends ActorCall, Answer, Event> implements Turn<Event> {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly earlierVersion: number | undefined;
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #activation: Activation<State, Call, Answer>;
  readonly #callId: number;
  readonly #log: CommitLog;
  readonly #book: DirtyBook<State, Call, Answer>;
  /** Where this turn's own commit stands; infinite for none. */
  #committedAt = Number.POSITIVE_INFINITY;
  /** What the answer rests on, if that is not all that is committed. */
  #dependsOn: number | undefined;
  /** What must be done before the answer leaves, if anything. */
  #effect: SideEffect | undefined;

  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    activation: Activation<State, Call, Answer>,
    callId: number,
    clock: Clock,
    log: CommitLog,
    book: DirtyBook<State, Call, Answer>,
  ) {
    this.#kind = kind;
    this.#activation = activation;
    this.#callId = callId;
    this.#log = log;
    this.#book = book;
    this.wallMs = clock.wallMs();
    this.monotonicMs = clock.monotonicMs();
    this.earlierVersion = activation.versionOfCall(callId, this.monotonicMs);
  }

  /** The actor's state. A turn begins only when it is loaded. */
  get state(): State {
    const { state } = this.#activation;
    assert(state !== undefined, 'an actor has no turn before it is loaded');
    return state;
  }

  get version(): number {
    return this.#activation.version;
  }

  commit(event: Event): number {
    const activation = this.#activation;
    if (this.#callId !== 0) activation.recent.assertRoom();
    this.#log.assertOpen();
    const bytes = this.#kind.sizeOfRecord(event);
    assert(bytes <= RECORD_BYTES_MAX, 'the API takes no body that makes a larger record');
    const version = activation.version + 1;
    // Nobody reads back what does not last.
    const line = this.#log.isLasting ? this.#lineOf(event, version) : '';
    this.#kind.apply(this.state, event, version, activation.id);
    activation.version = version;
    activation.offset = this.#log.add(line);
    this.#committedAt = activation.offset;
    if (this.#callId !== 0) activation.recent.add(this.#callId, version, this.monotonicMs);
    this.#book.changed(activation, this.monotonicMs);
    return activation.offset;
  }

  dependOn(place: number): void {
    this.#dependsOn = place;
  }

  beforeAnswer(effect: SideEffect): void {
    this.#effect = effect;
    if (this.#committedAt !== Number.POSITIVE_INFINITY) this.#activation.pendingEffect = effect;
  }

  /** Whether the answer may leave at once: all that it rests on is durable, ours and done. */
  get isAnswerable(): boolean {
    const place = this.#dependsOn ?? this.#activation.offset;
    return (
      this.#effect === undefined &&
      this.#log.isDurable(place) &&
      (place >= this.#committedAt || this.#log.isLeased())
    );
  }

  /**
   * Fulfils when everything up to `offset` (less if the answer rests on less) is durable, nobody
   * else can have taken the actor over since the turn, and the turn's effect is done. Rejects with an unknown outcome when it cannot be
   * done: the turn has happened, and whoever asks again has its answer once it is.
   */
  async whenAnswerable(offset: number): Promise<void> {
    const place = this.#dependsOn ?? offset;
    await this.#log.whenDurable(place);
    // A commit of its own proves that the turn's state was the latest; any other answer needs a lease.
    if (place < this.#committedAt && !this.#log.isLeased()) await this.#log.whenConfirmed();
    const effect = this.#effect;
    if (effect === undefined) return;
    await effect().catch((error: unknown) => {
      throw owedStill(error);
    });
    if (this.#activation.pendingEffect === effect) this.#activation.pendingEffect = undefined;
  }

  #lineOf(event: Event, version: number): string {
    return encodeRecord({
      actor: this.#kind.name,
      actorId: this.#activation.id,
      version,
      callId: this.#callId,
      atMs: this.wallMs,
      event: this.#kind.recordOf(event),
    });
  }
}

/** Of the effect's own fault nothing is passed on: its reason and owner speak of another actor. */
function owedStill(cause: unknown): Fault {
  const options = { retryAfterS: 1, isOutcomeUnknown: true, cause } as const;
  if (toFault(cause).code !== 'service_unavailable') {
    return new Fault('internal', 'done, but not all that follows from it', options);
  }
  const reason = 'engine_unavailable';
  return new Fault('service_unavailable', 'done, but not yet told', { ...options, reason });
}
