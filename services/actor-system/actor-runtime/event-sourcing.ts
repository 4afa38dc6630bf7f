import type { SideEffect } from '#actor-runtime/turn';
import type { Instant } from '#stdlib/clock';
import type { RecentCall } from '#storage/ports/instances';

/** Message about a record to another actor. Sent at least once, after the record is durable. */
export type Notice = {
  /** Id of the receiving actor. */
  readonly to: string;
  /** Server time of the record, in Unix milliseconds. */
  readonly atMs: number;
  /** Content, which the runtime does not interpret. */
  readonly body: unknown;
  /** Estimated bytes of the content. */
  readonly bytes: number;
};

/** Result of applying an event: the actor's next state, and the answer to the command. */
export type Applied<State, Answer = unknown> = {
  readonly state: State;
  readonly answer: Answer;
  /** Undefined: the event concerns no other actor. */
  readonly notice?: Notice | undefined;
};

/** How the events of one actor kind are applied, recorded and stored. Source: architecture 2. */
export interface EventSourcing<
  State,
  Event,
  Outcome extends Applied<State> = Applied<State>,
  Copy = unknown,
> {
  /**
   * Returns the next state and the answer. Deterministic, because recovery applies the event again.
   * Consumes `state`: the next state may reuse its memory.
   */
  apply(state: State, event: Event, version: number, id: string): Outcome;

  /** Journal form of an event: plain JSON data, as small as possible. */
  recordOf(event: Event): unknown;

  /** Decodes the event of a record. Throws if the record is invalid. */
  read(record: unknown): Event;

  /** Approximate bytes of an event's record. */
  sizeOfRecord(event: Event): number;

  /** Bucket of an actor's stored state. Actors of one bucket may share a write. */
  bucketOf(id: string): number;

  /** Copies the unstored changes of an actor. */
  checkpoint(id: string, state: State, recentCalls: readonly RecentCall[]): Checkpoint<State, Copy>;

  /** Stores copies of actors in one bucket. Idempotent: may be repeated and may arrive late. */
  store(copies: readonly Copy[]): Promise<void>;

  /** Rows that may be stored before the actor's checkpoint. Absent: the kind has no such rows. */
  readonly earlyRows?: EarlyRows<State>;

  /** Whether a guarantee to callers requires the state to be stored soon. Absent: never. */
  isUrgent?(state: State): boolean;

  /** Bytes that a dirty actor holds until it is stored. Counts towards the bound of the tail. */
  sizeOfUnstored(state: State): number;

  /** Prepares the stored state for a replay of `events`. */
  beforeReplay?(state: State, events: readonly Event[]): State;

  /**
   * Side effect that the replayed events leave pending, if any. The effect runs before the state is
   * stored.
   */
  effectAfterReplay?(id: string, state: State, events: readonly Event[]): SideEffect | undefined;

  /**
   * Closing event, committed before the actor is evicted or moves to another node, so that the next
   * owner has the same state. Undefined if the records already contain everything. A kind that
   * records every change does not implement this method.
   */
  closing?(state: State, now: Instant): Event | undefined;
}

/**
 * Rows of dirty actors that may be stored before their checkpoint, because readers look them up by
 * name only. Large rows then do not make checkpoints due earlier.
 */
export type EarlyRows<State, Copy = unknown> = {
  /** Bytes of the early rows. They are part of `sizeOfUnstored`. */
  sizeOf(state: State): number;
  /**
   * Copies the oldest early rows, up to `bytesMax` but at least one row. A checkpoint taken before
   * these rows are stored includes them too.
   */
  copy(id: string, state: State, bytesMax: number): Checkpoint<State, Copy>;
  /** Stores copies of actors in one bucket. Idempotent: may be repeated and may arrive late. */
  store(copies: readonly Copy[]): Promise<void>;
};

/** Copy of one actor for the store. */
export type Checkpoint<State, Copy = unknown> = {
  readonly copy: Copy;
  /** Drops the stored rows from the actor's current state, which may be newer than the copy. */
  forget(state: State): void;
};
