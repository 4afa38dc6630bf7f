import { faultFor } from '#fault/fault';
import type { Instant } from '#platform/clock';
import { MAILBOX_CALLS_MAX } from '#runtime/bounds';
import { RecentCalls } from '#runtime/recent-calls';
import type { RecentCall } from '#storage/ports/instances';

const NO_CALLS: readonly RecentCall[] = [];

/** A call that waits for its turn, and where its answer goes. */
export type Waiting<Call, Answer> = {
  readonly call: Call;
  readonly sinceMs: number;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (fault: unknown) => void;
};

/**
 * One actor in memory: its state and the calls that wait for it. It is busy while it is being
 * loaded or while a turn awaits something; then calls queue. Turns and replay write `state`,
 * `version` and `offset`, the host `isBusy`, the catalog `lastUsedMs` and `bytes`; what of it is
 * not stored is the checkpointer's.
 */
export class Activation<State, Call, Answer> {
  readonly id: string;
  readonly shard: number;
  /** Undefined while loading, when the actor is busy. */
  state: State | undefined;
  version = 0;
  isBusy = true;
  /** Position of the last committed record in this process's commit log. */
  offset = 0;
  /** Whole: V8 would box other numbers for every actor. */
  lastUsedMs: number;
  bytes = 0;
  #recent: RecentCalls | undefined;
  #mailbox: Waiting<Call, Answer>[] | undefined;

  constructor(id: string, shard: number, monotonicMs: number) {
    this.id = id;
    this.shard = shard;
    this.lastUsedMs = Math.floor(monotonicMs);
  }

  /** Whether no call has a turn or waits for one. */
  get isIdle(): boolean {
    return !this.isBusy && this.#mailbox === undefined;
  }

  /** Whether calls wait for their turns. */
  get isWaitedFor(): boolean {
    return this.#mailbox !== undefined;
  }

  /** The ids of recently committed calls; made on first use, because idle actors have none. */
  get recent(): RecentCalls {
    this.#recent ??= new RecentCalls();
    return this.#recent;
  }

  /** The version at which `callId` was committed a moment ago, if it was. */
  versionOfCall(callId: number, monotonicMs: number): number | undefined {
    return this.#recent?.versionOf(callId, monotonicMs);
  }

  /** Whether a retry of a committed call could still come: then the actor stays (architecture 3.5). */
  get hasRecentCalls(): boolean {
    return this.#recent !== undefined;
  }

  /** Forgets call ids that are too old to matter; frees their memory when none is left. */
  trim(monotonicMs: number): void {
    this.#recent?.versionOf(-1, monotonicMs);
    if (this.#recent?.size === 0) this.#recent = undefined;
  }

  /** The remembered calls as a checkpoint stores them. */
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

  /** The next waiting call, in order of arrival. */
  dequeue(): Waiting<Call, Answer> | undefined {
    const next = this.#mailbox?.shift();
    if (this.#mailbox?.length === 0) this.#mailbox = undefined;
    return next;
  }
}
