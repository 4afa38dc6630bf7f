import type { Instant } from '#stdlib/clock';

/** Idempotent action outside the actor, such as a call to another actor. */
export type SideEffect = () => Promise<void>;

/** Turn of one call, as the kind of the actor sees it. The instant is the start of the turn. */
export interface Turn<Event, Outcome = unknown> extends Instant {
  /** Version of the actor, including this turn's commit. */
  readonly version: number;
  /** Version at which this call was committed before, if it is a retry; otherwise undefined. */
  readonly earlierVersion: number | undefined;
  /** Log offset of the actor's newest record, including this turn's commit. For `dependOn`. */
  readonly offset: number;
  /**
   * Applies the event to the state and holds the answer until the event is durable. At most once
   * per turn. Returns the next state and the answer.
   */
  commit(event: Event): Outcome;
  /**
   * Declares that the answer reveals nothing that was committed after `offset` (0: only stored
   * state). The answer then waits for `offset` alone. Throws `service_unavailable` if `offset`
   * cannot become durable at present. Must be called before the turn changes anything.
   */
  dependOn(offset: number): void;
  /**
   * Runs `effect` after the turn's version is durable and before the answer leaves. May run
   * repeatedly.
   */
  beforeAnswer(effect: SideEffect): void;
}
