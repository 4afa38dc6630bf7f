import type { Instant } from '#platform/clock';

/** Something done outside the actor that may be repeated without harm. */
export type SideEffect = () => Promise<void>;

/** One call's time with an actor, as the actor's kind sees it; the instant is that of its beginning. */
export interface Turn<Event, Outcome = unknown> extends Instant {
  /** The actor's version: what is committed so far, this turn's commit included. */
  readonly version: number;
  /** The version at which this very call was committed before, if it was (a retry). */
  readonly earlierVersion: number | undefined;
  /** The log offset of the actor's newest record, this turn's commit included; for `dependOn`. */
  readonly offset: number;
  /**
   * Applies the event to the state and holds the answer until it is durable. Once per turn. Returns
   * what the event made: the next state and the answer.
   */
  commit(event: Event): Outcome;
  /**
   * The answer reveals nothing that was committed after `offset` (0: nothing that is not stored),
   * so it waits for that alone. Throws `service_unavailable` if that cannot be durable for now: before
   * the turn changes anything.
   */
  dependOn(offset: number): void;
  /** Runs after the turn's version is durable and before the answer leaves; may be repeated. */
  beforeAnswer(effect: SideEffect): void;
}
