import type { Applied, EventSourcing } from '#actor-runtime/event-sourcing';
import type { ServedUntil } from '#actor-runtime/host-ports';
import type { Turn } from '#actor-runtime/turn';
import type { RecentCall } from '#storage/ports/instances';
import type { Traced } from '#telemetry/tracer';

/** Fields of every call to an actor. */
export type ActorCall = Traced & {
  /**
   * Permanent id of the call, the same for every retry (architecture 3.5). 0: the call commits
   * nothing.
   */
  readonly callId: number;
  /** Wall-clock deadline in Unix milliseconds. A call is dropped if its turn would begin later. */
  readonly deadlineAtMs: number;
};

/** Stored state of an actor that is being activated. */
export type LoadedActor<State> = {
  readonly state: State;
  /** Version of the state; 0 if nothing was ever committed. */
  readonly version: number;
  /** Calls that were committed up to this version and may still be retried. */
  readonly recentCalls: readonly RecentCall[];
};

/**
 * Behaviour of one kind of actor: how it answers calls and, if the kind is durable, how its events
 * are applied and stored. A kind does not depend on journals, mailboxes, shards or peers. Source:
 * architecture 2.
 *
 * Between two turns only the runtime touches the state. A turn may keep the actor busy across an
 * await.
 */
export interface ActorKind<
  State,
  Call extends ActorCall,
  Answer,
  Event = never,
  Outcome extends Applied<State> = Applied<State>,
> {
  readonly name: 'instance' | 'directory' | 'feed' | 'meter';

  /** Phase of a closing shard up to which the kind serves. Absent: `closing`. */
  readonly servedUntil?: ServedUntil;

  /** Event sourcing of the kind. Absent: the kind commits nothing. */
  readonly sourcing?: EventSourcing<State, Event, Outcome>;

  /**
   * Reads the stored state of the actor. Throws `service_unavailable` when a store does not answer.
   */
  activate(id: string): Promise<LoadedActor<State>>;

  /**
   * Runs one turn: reads `state`, commits at most one event through `turn`, and answers. A thrown
   * Fault is a refusal and must come before the commit.
   */
  receive(state: State, call: Call, turn: Turn<Event, Outcome>): Answer | Promise<Answer>;

  /** Approximate bytes of the actor in memory. Drives the byte budget. */
  sizeOf(state: State): number;

  /** Whether the actor does not exist. A non-existent actor leaves memory right after the turn. */
  isAbsent(state: State): boolean;

  /**
   * False while the actor holds state that is in no store. Absent: the actor may always be evicted.
   */
  isEvictable?(state: State, nowMs: number): boolean;
}
