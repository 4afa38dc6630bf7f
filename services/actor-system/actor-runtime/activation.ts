import assert from 'node:assert/strict';
import {
  MAILBOX_CALLS_MAX,
  RECENT_CALLS_AGE_MS,
  RECENT_CALLS_MAX,
  RECORD_BYTES_MAX,
} from '#actor-runtime/actor-bounds';
import type { ActorCall, ActorKind } from '#actor-runtime/actor-kind';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { Applied } from '#actor-runtime/event-sourcing';
import type { Outbox } from '#actor-runtime/outbox';
import { encodeRecord } from '#actor-runtime/record-codec';
import type { SideEffect, Turn } from '#actor-runtime/turn';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { Clock, Instant } from '#stdlib/clock';
import type { RecentCall } from '#storage/ports/instances';

const NO_CALLS: readonly RecentCall[] = [];

/** A call in the mailbox, with the callbacks for its answer. */
export type Waiting<Call, Answer> = {
  readonly call: Call;
  readonly sinceMs: number;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (fault: unknown) => void;
};

/**
 * One actor in memory: its state and its mailbox.
 *
 * The actor is busy while it loads or while a turn awaits something; calls queue meanwhile. Turns
 * and replay write `state`, `version` and `offset`; the host writes `isBusy`; the catalog writes
 * `lastUsedMs` and `bytes`. The checkpointer tracks unstored changes.
 */
export class Activation<State, Call, Answer> {
  readonly id: string;
  readonly shard: number;
  /** State of the actor. Undefined while the actor loads and is therefore busy. */
  state: State | undefined;
  version = 0;
  isBusy = true;
  /** Position of the actor's last committed record in this process's commit log. */
  offset = 0;
  /** A whole number (monotonic, in milliseconds): V8 allocates extra memory for a fraction. */
  lastUsedMs: number;
  bytes = 0;
  #recent: RecentCalls | undefined;
  #mailbox: Waiting<Call, Answer>[] | undefined;

  constructor(id: string, shard: number, monotonicMs: number) {
    this.id = id;
    this.shard = shard;
    this.lastUsedMs = Math.floor(monotonicMs);
  }

  /** True if the actor is not busy and no call waits in the mailbox. */
  get isIdle(): boolean {
    return !this.isBusy && this.#mailbox === undefined;
  }

  /** Whether calls wait in the mailbox. */
  get isWaitedFor(): boolean {
    return this.#mailbox !== undefined;
  }

  /** Ids of recently committed calls. Created on first use, because idle actors have none. */
  get recent(): RecentCalls {
    this.#recent ??= new RecentCalls();
    return this.#recent;
  }

  /** Version at which `callId` was committed within the last 20 s; undefined if it was not. */
  versionOfCall(callId: number, monotonicMs: number): number | undefined {
    return this.#recent?.versionOf(callId, monotonicMs);
  }

  /**
   * Whether a retry of a committed call may still arrive. If so, the actor stays in memory
   * (architecture 3.5).
   */
  get hasRecentCalls(): boolean {
    return this.#recent !== undefined;
  }

  /** Forgets expired call ids. Frees the memory when no id is left. */
  trim(monotonicMs: number): void {
    this.#recent?.forgetOld(monotonicMs);
    if (this.#recent?.size === 0) this.#recent = undefined;
  }

  /** Remembered calls in the form that a checkpoint stores. */
  recentCalls(now: Instant): readonly RecentCall[] {
    return this.#recent?.list(now) ?? NO_CALLS;
  }

  /** Queues a call. Throws `service_unavailable` when the mailbox is full. */
  enqueue(waiting: Waiting<Call, Answer>): void {
    this.#mailbox ??= [];
    if (this.#mailbox.length >= MAILBOX_CALLS_MAX) {
      throw faultFor('overloaded', 'too many calls are waiting', { retryAfterS: 1 });
    }
    this.#mailbox.push(waiting);
  }

  /** Next waiting call, in order of arrival. */
  dequeue(): Waiting<Call, Answer> | undefined {
    const next = this.#mailbox?.shift();
    if (this.#mailbox?.length === 0) this.#mailbox = undefined;
    return next;
  }
}

/**
 * Minimum number of expired numbers before their array is compacted. Compacting in bulk makes the
 * cost per call negligible.
 */
const COMPACT_AT = 192;

/** Number of added numbers after which expired calls are forgotten. */
const FORGET_AT = 192;

/** Maximum age of a recovered call relative to the actor's newest call, in milliseconds. */
const RESTORE_AGE_MS_MAX = 3 * RECENT_CALLS_AGE_MS;

/**
 * Maximum age of recovered calls by the wall clock, in milliseconds. A clock error of a day does
 * not occur, so older calls cannot be retried and need no memory.
 */
const RESTORE_CLOCK_MS_MAX = 24 * 60 * 60 * 1_000;

/** Numbers of a remembered call: id, version and monotonic time. */
const ENTRY_LENGTH = 3;

/**
 * Ids and versions of the calls that an actor committed in the last 20 s. With these ids, a call
 * that an edge retries is committed only once (architecture 3.5).
 *
 * Stored in a single array of numbers, oldest first: an actor between two calls is not in the
 * processor's cache, and each further array is another wait for memory. The ids of an edge
 * ascend, so most new calls have the largest id and need no look-up. A look-up scans the array,
 * because an actor rarely has more than a few dozen calls.
 */
export class RecentCalls {
  /** Id, version and time of each call. */
  #entries: number[] = [];
  /** Index of the first call that is not forgotten. */
  #first = 0;
  #largestId = 0;

  /** Number of remembered ids. Expired ids may be included. */
  get size(): number {
    return (this.#entries.length - this.#first) / ENTRY_LENGTH;
  }

  /** Version at which `callId` was committed; undefined if unknown. Call id 0 never matches. */
  versionOf(callId: number, monotonicMs: number): number | undefined {
    if (callId === 0 || callId > this.#largestId) return undefined;
    this.forgetOld(monotonicMs);
    for (let at = this.#entries.length - ENTRY_LENGTH; at >= this.#first; at -= ENTRY_LENGTH) {
      if (this.#entries[at] === callId) return this.#entries[at + 1];
    }
    return undefined;
  }

  /**
   * Throws `service_unavailable` when no further id can be remembered. Must run before the turn
   * changes anything.
   */
  assertRoom(monotonicMs: number): void {
    if (this.size < RECENT_CALLS_MAX) return;
    this.forgetOld(monotonicMs);
    if (this.size < RECENT_CALLS_MAX) return;
    const text = 'too many calls on one instance; use batches';
    throw faultFor('overloaded', text, { retryAfterS: 1 });
  }

  /** Remembers a committed call. */
  add(callId: number, version: number, monotonicMs: number): void {
    if (callId === 0) return;
    if (callId > this.#largestId) this.#largestId = callId;
    this.#entries.push(callId, version, monotonicMs);
    if (this.#entries.length % FORGET_AT === 0) this.forgetOld(monotonicMs);
  }

  /** Remembered calls with wall-clock times, for the next activation. */
  list({ monotonicMs, wallMs }: Instant): RecentCall[] {
    this.forgetOld(monotonicMs);
    const calls: RecentCall[] = [];
    for (let at = this.#first; at < this.#entries.length; at += ENTRY_LENGTH) {
      const [callId = 0, version = 0, committedMs = 0] = this.#entries.slice(at, at + ENTRY_LENGTH);
      calls.push({ callId, version, atMs: Math.round(wallMs - (monotonicMs - committedMs)) });
    }
    return calls;
  }

  /**
   * Remembers calls that another owner committed, oldest first, for 20 s from now on.
   *
   * Ages are relative to the newest call, because the clocks of the two owners may differ. If there
   * are many calls, only the young calls are kept, so that new calls have room.
   */
  restore(calls: readonly RecentCall[], { monotonicMs, wallMs }: Instant): void {
    const newestMs = calls.at(-1)?.atMs ?? 0;
    if (wallMs - newestMs > RESTORE_CLOCK_MS_MAX) return;
    const newer = Math.max(0, calls.length - RECENT_CALLS_MAX / 2);
    for (const [index, { callId, version, atMs }] of calls.entries()) {
      const ageMs = newestMs - atMs;
      const isKept = ageMs < RECENT_CALLS_AGE_MS || (ageMs < RESTORE_AGE_MS_MAX && index >= newer);
      if (isKept) this.add(callId, version, monotonicMs);
    }
  }

  /** Forgets the ids that are older than 20 s. */
  forgetOld(monotonicMs: number): void {
    const oldestMs = monotonicMs - RECENT_CALLS_AGE_MS;
    const { length } = this.#entries;
    while (this.#first < length && (this.#entries[this.#first + 2] ?? 0) < oldestMs) {
      this.#first += ENTRY_LENGTH;
    }
    if (this.#first < COMPACT_AT || this.#first * 2 < length) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}

/** Part of `DirtyActors` that a turn uses to track unstored commits. */
interface DirtyBook<State, Call, Answer> {
  changed(activation: Activation<State, Call, Answer>, monotonicMs: number): void;
  effectPending(activation: Activation<State, Call, Answer>, effect: SideEffect): void;
  effectDone(activation: Activation<State, Call, Answer>, effect: SideEffect): void;
}

/**
 * One turn of an activation. A commit adds a record to the commit log of the process and changes
 * the actor's state.
 */
export class HostedTurn<State, Call extends ActorCall, Answer, Event>
  implements Turn<Event, Applied<State>>
{
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly earlierVersion: number | undefined;
  readonly #kind: ActorKind<State, Call, Answer, Event>;
  readonly #activation: Activation<State, Call, Answer>;
  readonly #call: Pick<ActorCall, 'callId' | 'traceparent'>;
  readonly #log: CommitLog;
  readonly #book: DirtyBook<State, Call, Answer>;
  readonly #outbox: Outbox | undefined;
  /** Log offset of this turn's own commit; infinite if the turn committed nothing. */
  #committedAt = Number.POSITIVE_INFINITY;
  /** Durability dependency of the answer. Undefined: the actor's newest record. */
  #dependsOn: number | undefined;
  /** Side effect to run before the answer leaves, if any. */
  #effect: SideEffect | undefined;

  constructor(
    kind: ActorKind<State, Call, Answer, Event>,
    activation: Activation<State, Call, Answer>,
    call: Pick<ActorCall, 'callId' | 'traceparent'>,
    clock: Clock,
    log: CommitLog,
    book: DirtyBook<State, Call, Answer>,
    outbox?: Outbox,
  ) {
    this.#kind = kind;
    this.#activation = activation;
    this.#call = call;
    this.#log = log;
    this.#book = book;
    this.#outbox = outbox;
    this.wallMs = clock.wallMs();
    this.monotonicMs = clock.monotonicMs();
    this.earlierVersion = activation.versionOfCall(call.callId, this.monotonicMs);
  }

  /** State of the actor. A turn begins only when the actor is loaded. */
  get state(): State {
    const { state } = this.#activation;
    assert(state !== undefined, 'an actor has no turn before it is loaded');
    return state;
  }

  get version(): number {
    return this.#activation.version;
  }

  get offset(): number {
    return this.#activation.offset;
  }

  commit(event: Event): Applied<State> {
    const activation = this.#activation;
    const { sourcing } = this.#kind;
    assert(sourcing !== undefined, 'only a kind with events commits events');
    const { callId, traceparent } = this.#call;
    if (callId !== 0) activation.recent.assertRoom(this.monotonicMs);
    this.#log.assertOpen();
    const bytes = sourcing.sizeOfRecord(event);
    assert(bytes <= RECORD_BYTES_MAX, 'a request body can never make a larger record');
    const version = activation.version + 1;
    // Without a durable journal nobody reads the record back, so its text is not built.
    const line = this.#log.isLasting ? this.#lineOf(sourcing.recordOf(event), version) : '';
    const applied = sourcing.apply(this.state, event, version, activation.id);
    activation.state = applied.state;
    activation.version = version;
    activation.offset = this.#log.add(line, traceparent);
    const { notice } = applied;
    if (notice !== undefined) this.#outbox?.add(activation.id, version, activation.offset, notice);
    this.#committedAt = activation.offset;
    if (callId !== 0) activation.recent.add(callId, version, this.monotonicMs);
    this.#book.changed(activation, this.monotonicMs);
    return applied;
  }

  dependOn(offset: number): void {
    this.#assertWaitable(offset);
    this.#dependsOn = offset;
  }

  beforeAnswer(effect: SideEffect): void {
    this.#effect = effect;
    const hasCommitted = this.#committedAt !== Number.POSITIVE_INFINITY;
    if (hasCommitted) this.#book.effectPending(this.#activation, effect);
  }

  /**
   * Whether the answer may leave immediately: its dependency is durable, this node is still the
   * owner, and no side effect is pending.
   */
  get isAnswerable(): boolean {
    const offset = this.#dependsOn ?? this.#activation.offset;
    return (
      this.#effect === undefined &&
      this.#log.isDurable(offset) &&
      (offset >= this.#committedAt || this.#log.isLeased())
    );
  }

  /**
   * Fulfils when three conditions hold: every record up to `offset` (or the smaller dependency) is
   * durable, this node has been the owner since the turn, and the side effect is done.
   *
   * Otherwise rejects with an unknown outcome. The turn has happened, so a retry gets the answer
   * later.
   */
  async whenAnswerable(offset: number): Promise<void> {
    const needed = this.#dependsOn ?? offset;
    // `dependOn` has already checked its offset, before the turn changed anything.
    if (this.#dependsOn === undefined && needed < this.#committedAt) this.#assertWaitable(needed);
    await this.#log.whenDurable(needed);
    // This turn's own commit proves that the state was the latest. Any other answer needs a read
    // lease.
    if (needed < this.#committedAt && !this.#log.isLeased()) await this.#log.whenConfirmed();
    const effect = this.#effect;
    if (effect === undefined) return;
    await effect().catch((error: unknown) => {
      throw stillPending(error);
    });
    this.#book.effectDone(this.#activation, effect);
  }

  /**
   * Throws `service_unavailable` if `offset` is not durable and the log refuses commits. In that
   * case `offset` may never become durable.
   */
  #assertWaitable(offset: number): void {
    if (!this.#log.isDurable(offset) && this.#log.isHeldUp) this.#log.assertOpen();
  }

  #lineOf(event: unknown, version: number): string {
    return encodeRecord({
      actor: this.#kind.name,
      actorId: this.#activation.id,
      version,
      callId: this.#call.callId,
      atMs: this.wallMs,
      event,
    });
  }
}

/**
 * Fault of a committed turn whose side effect is still pending. The fault of the effect is only the
 * cause, because its reason and owner refer to another actor.
 */
function stillPending(cause: unknown): Fault {
  const options = { retryAfterS: 1, isOutcomeUnknown: true, cause } as const;
  if (toFault(cause).code !== 'service_unavailable') {
    return new Fault(
      'internal',
      'the change is committed, but its side effect failed: send the same call again',
      options,
    );
  }
  return faultFor(
    'engine_unavailable',
    'the change is committed, but its side effect is not done yet: send the same call again',
    options,
  );
}
