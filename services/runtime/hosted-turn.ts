import assert from 'node:assert/strict';
import type { Clock } from '#platform/clock';
import type { Activation } from '#runtime/activation';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import type { CommitLog } from '#runtime/commit-log';
import type { Turn } from '#runtime/turn';

/** Whoever keeps account of what is committed but not stored. */
export interface DirtyBook<State, Call, Answer> {
  changed(
    activation: Activation<State, Call, Answer>,
    recordBytes: number,
    monotonicMs: number,
  ): void;
}

/** A turn on a real activation: commits go to the process's log and into the actor's state. */
export class HostedTurn<State, Call extends ActorCall, Answer, Operation>
  implements Turn<Operation>
{
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly earlierVersion: number | undefined;
  /** What must be done before the answer leaves, if anything. */
  effect: (() => Promise<void>) | undefined;
  readonly #kind: ActorKind<State, Call, Answer, Operation>;
  readonly #activation: Activation<State, Call, Answer>;
  readonly #callId: number;
  readonly #log: CommitLog;
  readonly #book: DirtyBook<State, Call, Answer>;

  constructor(
    kind: ActorKind<State, Call, Answer, Operation>,
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
    this.nowMs = clock.wallMs();
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

  commit(operation: Operation): void {
    const activation = this.#activation;
    const { recent } = activation;
    recent.assertRoom();
    this.#log.assertOpen();
    const version = activation.version + 1;
    this.#kind.apply(this.state, operation, version, activation.id);
    activation.version = version;
    activation.position = this.#log.add({ actorId: activation.id, version, operation });
    recent.add(this.#callId, version, this.monotonicMs);
    this.#book.changed(activation, this.#kind.sizeOfRecord(operation), this.monotonicMs);
  }

  beforeAnswer(effect: () => Promise<void>): void {
    this.effect = effect;
  }

  /** Fulfils when everything up to `position` is durable and the turn's effect is done. */
  async whenAnswerable(position: number): Promise<void> {
    await this.#log.whenDurable(position);
    await this.effect?.();
  }
}
