import type { Instant } from '#platform/instant';
import type { SideEffect } from '#runtime/actor-kind';

/** One call's time with an actor, as the actor's kind sees it; the instant is that of its beginning. */
export interface Turn<Event> extends Instant {
  /** The actor's version: what is committed so far, this turn's commit included. */
  readonly version: number;
  /** The version at which this very call was committed before, if it was (a retry). */
  readonly earlierVersion: number | undefined;
  /**
   * Applies the event to the state and holds the answer until it is durable. Once per turn.
   * Returns its place in the journal, for `dependOn`.
   */
  commit(event: Event): number;
  /**
   * The answer tells nothing that was committed behind `place` (0: nothing that is not stored), so it
   * waits for that alone.
   */
  dependOn(place: number): void;
  /** Runs after the turn's version is durable and before the answer leaves; may be repeated. */
  beforeAnswer(effect: SideEffect): void;
}
