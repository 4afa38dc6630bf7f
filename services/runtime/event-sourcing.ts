import type { Instant } from '#platform/clock';
import type { SideEffect } from '#runtime/turn';
import type { RecentCall } from '#storage/ports/instances';

/** What an event makes of an actor: its next state, and the answer to the command behind it. */
export type Applied<State, Answer = unknown> = {
  readonly state: State;
  readonly answer: Answer;
};

/** How the events of one kind of actor are applied, recorded and stored. Source: architecture 2. */
export interface EventSourcing<
  State,
  Event,
  Outcome extends Applied<State> = Applied<State>,
  Copy = unknown,
> {
  /**
   * The next state and the answer. Deterministic: recovery applies the event again. The state
   * before is used up: the next one may share what it held.
   */
  apply(state: State, event: Event, version: number, id: string): Outcome;

  /** An event as the journal keeps it: plain JSON data, as small as can be. */
  recordOf(event: Event): unknown;

  /** The event of such a record. Throws when it makes no sense. */
  read(record: unknown): Event;

  /** Bytes of an event's record, roughly. */
  sizeOfRecord(event: Event): number;

  /** Where an actor's stored state lies: those of one bucket may be stored in one write. */
  bucketOf(id: string): number;

  /** A copy of what is not stored yet of an actor. */
  checkpoint(id: string, state: State, recentCalls: readonly RecentCall[]): Checkpoint<State, Copy>;

  /** Stores copies of actors of one bucket. May be repeated and may come late without harm. */
  store(copies: readonly Copy[]): Promise<void>;

  /** Rows that an actor need not hold until its checkpoint. Absent: it has none. */
  readonly earlyRows?: EarlyRows<State>;

  /** Whether a promise depends on the state being stored soon. Absent: it never does. */
  isUrgent?(state: State): boolean;

  /** Bytes that a dirty actor holds until it is stored; bounds the tail. */
  sizeOfUnstored(state: State): number;

  /** The stored state as replay begins with it, when these events are about to be applied again. */
  beforeReplay?(state: State, events: readonly Event[]): State;

  /**
   * The side effect that replayed events leave pending, if any: it is done before the state counts
   * as stored.
   */
  effectAfterReplay?(id: string, state: State, events: readonly Event[]): SideEffect | undefined;

  /**
   * What is committed before the actor is given up in good order (idle, or to another node), so
   * that its next owner knows all that this one does; undefined if the records say it already. A
   * kind whose every change is a record has no such thing.
   */
  closing?(state: State, now: Instant): Event | undefined;
}

/**
 * Rows of dirty actors that may be stored before the checkpoint that they belong to, because nothing
 * reads them but by name: large ones then do not bring checkpoints forward.
 */
export type EarlyRows<State, Copy = unknown> = {
  /** Their bytes, part of `sizeOfUnstored`. */
  sizeOf(state: State): number;
  /**
   * A copy of the oldest of them, up to `bytesMax` and at least one. A checkpoint that is taken
   * before they are stored has them too.
   */
  copy(id: string, state: State, bytesMax: number): Checkpoint<State, Copy>;
  /** Stores copies of actors of one bucket. May be repeated and may come late without harm. */
  store(copies: readonly Copy[]): Promise<void>;
};

/** A copy of one actor to be stored. */
export type Checkpoint<State, Copy = unknown> = {
  readonly copy: Copy;
  /** Drops what has been stored from the state as it is by then. */
  forget(state: State): void;
};
