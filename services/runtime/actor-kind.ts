import type { Instant } from '#platform/instant';
import type { Turn } from '#runtime/turn';
import type { RecentCall } from '#storage/instance-store';

/** What every call to an actor carries. */
export type ActorCall = {
  /** Names the call for good (architecture 3.5); 0 for calls that commit nothing. */
  readonly callId: number;
  /** Wall-clock time after which the call is dropped before its turn. */
  readonly deadlineAtMs: number;
};

/** What is known of an actor when it comes to memory. */
export type LoadedActor<State> = {
  readonly state: State;
  /** The version that the state rests on; 0 if nothing was ever committed. */
  readonly version: number;
  /** Calls that were committed up to that version and may yet be retried. */
  readonly recentCalls: readonly RecentCall[];
};

/**
 * One kind of durable actor: how it answers, what its events do and what of it is stored. It
 * knows nothing of journals, mailboxes, shards or peers. Source: architecture 2.
 *
 * Between two turns nothing but the runtime touches `state`; a turn may keep the actor to itself
 * across an await.
 */
export interface ActorKind<State, Call extends ActorCall, Answer, Event> {
  readonly name: 'instance' | 'directory' | 'meter';

  /** Reads what the stores know of the actor. Throws `service_unavailable` when it cannot. */
  activate(id: string): Promise<LoadedActor<State>>;

  /**
   * One turn: looks at `state`, commits at most one event through `turn`, and answers. A thrown
   * Fault is a refusal and must come before the commit.
   */
  receive(state: State, call: Call, turn: Turn<Event>): Answer | Promise<Answer>;

  /** Changes `state` by a committed event. Deterministic: recovery runs it again. */
  apply(state: State, event: Event, version: number, id: string): void;

  /** An event as the journal keeps it: plain JSON data, as small as can be. */
  recordOf(event: Event): unknown;

  /** The event of such a record. Throws when it makes no sense. */
  read(record: unknown): Event;

  /** These events are about to be run again on a state as it was stored. */
  beforeReplay?(state: State, events: readonly Event[]): void;

  /**
   * What an actor that has run these events again still owes the world outside, if anything: it
   * is done before the state counts as stored.
   */
  effectAfterReplay(id: string, state: State, events: readonly Event[]): SideEffect | undefined;

  /**
   * What is committed before the actor is given up in good order (idle, or to another node), so that
   * whoever has it next knows all that this one does; undefined if the records say it already. A
   * kind whose every change is a record has no such thing.
   */
  closing?(state: State, now: Instant): Event | undefined;

  /**
   * A copy of what is not stored yet, and how to store it. `write` may be repeated and may arrive
   * late without harm; `forget` drops from memory what has been stored.
   */
  checkpoint(id: string, state: State, recentCalls: readonly RecentCall[]): Checkpoint;

  /** Bytes that the actor holds in memory, roughly; drives the byte budget. */
  sizeOf(state: State): number;

  /** Bytes of an event's record, roughly. */
  sizeOfRecord(event: Event): number;

  /** Bytes that a dirty actor holds until it is stored; bounds the tail. */
  sizeOfUnstored(state: State): number;

  /** Whether there is no such actor: it leaves memory right after the turn that found that out. */
  isAbsent(state: State): boolean;

  /** False while the actor holds something that no store would give back. */
  isEvictable(state: State, nowMs: number): boolean;
}

/** Something done outside that may be repeated without harm. */
export type SideEffect = () => Promise<void>;

/** A pending write of one actor's state. */
export type Checkpoint = {
  readonly write: () => Promise<void>;
  readonly forget: () => void;
};
