import { MAILBOX_CALLS_MAX } from '#actor-runtime/bounds';
import { RecentCalls } from '#actor-runtime/recent-calls';
import { faultFor } from '#errors/fault';
import type { Instant } from '#stdlib/clock';
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
  /** Undefined while the actor loads. The actor is busy then. */
  state: State | undefined;
  version = 0;
  isBusy = true;
  /** Position of the actor's last committed record in this process's commit log. */
  offset = 0;
  /** A whole number (monotonic, in milliseconds): V8 would box a fraction for every actor. */
  lastUsedMs: number;
  bytes = 0;
  #recent: RecentCalls | undefined;
  #mailbox: Waiting<Call, Answer>[] | undefined;

  constructor(id: string, shard: number, monotonicMs: number) {
    this.id = id;
    this.shard = shard;
    this.lastUsedMs = Math.floor(monotonicMs);
  }

  /** Whether no call has a turn or waits for a turn. */
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
   * Whether a retry of a committed call may still arrive. The actor then stays (architecture 3.5).
   */
  get hasRecentCalls(): boolean {
    return this.#recent !== undefined;
  }

  /** Forgets expired call ids. Frees their memory when none is left. */
  trim(monotonicMs: number): void {
    this.#recent?.versionOf(-1, monotonicMs);
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
