import type { Traced } from '#platform/tracer';
import type { Applied, EventSourcing } from '#runtime/event-sourcing';
import type { Turn } from '#runtime/turn';
import type { RecentCall } from '#storage/ports/instances';

/** What every call to an actor carries. */
export type ActorCall = Traced & {
  /** Names the call for good (architecture 3.5); 0 for calls that commit nothing. */
  readonly callId: number;
  /** Wall-clock time after which the call is dropped before its turn. */
  readonly deadlineAtMs: number;
};

/** What is known of an actor when it comes to memory. */
export type LoadedActor<State> = {
  readonly state: State;
  /** The version of the state; 0 if nothing was ever committed. */
  readonly version: number;
  /** Calls that were committed up to that version and may yet be retried. */
  readonly recentCalls: readonly RecentCall[];
};

/**
 * One kind of actor: how it answers, and if it is durable what its events do and what of it is
 * stored. It knows nothing of journals, mailboxes, shards or peers. Source: architecture 2.
 *
 * Between two turns nothing but the runtime touches the state; a turn may keep the actor to itself
 * across an await.
 */
export interface ActorKind<
  State,
  Call extends ActorCall,
  Answer,
  Event = never,
  Outcome extends Applied<State> = Applied<State>,
> {
  readonly name: 'instance' | 'directory' | 'meter';

  /** Its events. A kind that commits nothing has none. */
  readonly sourcing?: EventSourcing<State, Event, Outcome>;

  /** Reads what the stores know of the actor. Throws `service_unavailable` when it cannot. */
  activate(id: string): Promise<LoadedActor<State>>;

  /**
   * One turn: looks at `state`, commits at most one event through `turn`, and answers. A thrown
   * Fault is a refusal and must come before the commit.
   */
  receive(state: State, call: Call, turn: Turn<Event, Outcome>): Answer | Promise<Answer>;

  /** Bytes that the actor holds in memory, roughly; drives the byte budget. */
  sizeOf(state: State): number;

  /** Whether there is no such actor: it leaves memory right after the turn that found that out. */
  isAbsent(state: State): boolean;

  /** False while the actor holds something that no store would give back. Absent: it never does. */
  isEvictable?(state: State, nowMs: number): boolean;
}
