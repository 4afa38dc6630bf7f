/*
 * Outbox of an actor host: notices of committed records for other actors, sent at least once and in
 * order. The outbox is in memory only. The journal is its durable form: an actor with unsent notices
 * is not stored, so its records stay in the journal, and a replay adds the same notices again.
 */
import {
  NOTICE_RETRY_MS_MAX,
  NOTICE_RETRY_MS_MIN,
  NOTICES_BYTES_MAX,
  NOTICES_LINGER_MS,
  NOTICES_PER_CALL_BYTES_MAX,
  NOTICES_PER_CALL_MAX,
  RECEIVER_AWAY_MS_MAX,
  RECEIVER_BYTES_MAX,
  UNSENT_WAIT_MS_MAX,
} from '#actor-runtime/actor-bounds';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { Notice } from '#actor-runtime/event-sourcing';
import { type Fault, faultFor, toFault } from '#errors/fault';
import { type Clock, sleep, withinMs } from '#stdlib/clock';

/** A notice with the actor and the version of the record that it comes from. */
export type SentNotice = Pick<Notice, 'atMs' | 'body'> & {
  readonly actorId: string;
  readonly version: number;
};

/** Metrics of an outbox. */
export type OutboxMetrics = {
  /** Called for each notice that its receiver has confirmed. */
  sent(seconds: number): void;
  /** Called when a call to a receiver has failed. The call is repeated. */
  failed(): void;
};

type OutboxPorts = {
  readonly log: Pick<CommitLog, 'whenNoticed'>;
  readonly clock: Clock;
  /**
   * Sends notices to an actor. Fulfils when the notices are durable at the actor. The actor must
   * tolerate a repeated notice.
   */
  readonly send: (to: string, notices: readonly SentNotice[]) => Promise<void>;
  /** Whether all receivers understand notices. If not, the outbox drops notices. */
  readonly isOn: () => boolean;
  readonly metrics: OutboxMetrics;
  readonly onBug: (error: unknown) => void;
};

/** A notice in the queue of its receiver. */
type Queued = SentNotice & {
  readonly bytes: number;
  readonly offset: number;
  readonly sinceMs: number;
};

/** Notices for one receiver, oldest first. */
type Queue = {
  readonly notices: Queued[];
  bytes: number;
  isRunning: boolean;
  /** Time of the first failed call since the last confirmed call (monotonic); undefined: none. */
  failingSinceMs: number | undefined;
  /** Ends the time in which notices gather. Set while the queue gathers. */
  hurry: (() => void) | undefined;
};

/** Wait for the notices up to a version. */
type Waiter = {
  readonly version: number;
  readonly resolve: () => void;
  readonly sent: Promise<void>;
};

/** Unsent notices of one actor. */
type Unsent = {
  readonly to: string;
  /** Version of the newest notice. */
  newest: number;
  waiters: Waiter[];
};

/**
 * Queues of notices by receiver. One call per receiver is in flight, so a receiver gets the notices
 * of an actor in the order of their versions. A failed call is repeated with the same notices.
 */
export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #queues = new Map<string, Queue>();
  readonly #unsent = new Map<string, Unsent>();
  #bytes = 0;
  #hasEnded = false;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** Approximate bytes of all unsent notices. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Age of the oldest unsent notice, in milliseconds; 0: every notice is sent. */
  get ageMs(): number {
    const nowMs = this.#ports.clock.monotonicMs();
    let oldestMs = nowMs;
    for (const { notices } of this.#queues.values()) {
      oldestMs = Math.min(oldestMs, notices[0]?.sinceMs ?? nowMs);
    }
    return nowMs - oldestMs;
  }

  /**
   * Throws `overloaded` while too many notices wait for this receiver, or for all receivers, or while
   * the receiver has failed for too long. Must run before the turn commits.
   */
  assertRoom(to: string): void {
    const queue = this.#queues.get(to);
    const isFull = this.#bytes >= NOTICES_BYTES_MAX || (queue?.bytes ?? 0) >= RECEIVER_BYTES_MAX;
    if (!isFull && !this.#isAway(queue)) return;
    const text = 'too many changes wait for the log of transitions';
    throw faultFor('overloaded', text, { retryAfterS: 1 });
  }

  #isAway(queue: Queue | undefined): boolean {
    const sinceMs = queue?.failingSinceMs;
    if (sinceMs === undefined) return false;
    return this.#ports.clock.monotonicMs() - sinceMs > RECEIVER_AWAY_MS_MAX;
  }

  /** Adds the notice of an actor's record. `offset`: position of the record in the commit log. */
  add(actorId: string, version: number, offset: number, { to, ...notice }: Notice): void {
    if (this.#hasEnded || !this.#ports.isOn()) return;
    const sinceMs = this.#ports.clock.monotonicMs();
    const queue = this.#queueOf(to);
    queue.notices.push({ ...notice, actorId, version, offset, sinceMs });
    this.#weigh(queue, bytesOf(notice));
    const unsent = this.#unsent.get(actorId);
    if (unsent === undefined) this.#unsent.set(actorId, { to, newest: version, waiters: [] });
    else unsent.newest = version;
    if (queue.isRunning) return;
    queue.isRunning = true;
    this.#run(to, queue).catch(this.#ports.onBug);
  }

  /** Whether notices of the actor are unsent. */
  has(actorId: string): boolean {
    return this.#unsent.has(actorId);
  }

  /**
   * Fulfils when the present notices of the actor are sent; undefined if none are unsent. Rejects
   * with `service_unavailable` after 10 s.
   */
  whenSent(actorId: string): Promise<void> | undefined {
    const unsent = this.#unsent.get(actorId);
    if (unsent === undefined) return undefined;
    let waiter = unsent.waiters.at(-1);
    if (waiter?.version !== unsent.newest) {
      const { promise: sent, resolve } = Promise.withResolvers<void>();
      waiter = { version: unsent.newest, resolve, sent };
      unsent.waiters.push(waiter);
    }
    this.#queues.get(unsent.to)?.hurry?.();
    return withinMs(this.#ports.clock, UNSENT_WAIT_MS_MAX, waiter.sent, notSent);
  }

  /** Drops all notices: other nodes replay the records of this process. */
  end(): void {
    this.#hasEnded = true;
    for (const queue of this.#queues.values()) queue.hurry?.();
    this.#queues.clear();
    this.#unsent.clear();
    this.#bytes = 0;
  }

  #queueOf(to: string): Queue {
    const known = this.#queues.get(to);
    if (known !== undefined) return known;
    const empty = { bytes: 0, isRunning: false, failingSinceMs: undefined, hurry: undefined };
    const queue: Queue = { notices: [], ...empty };
    this.#queues.set(to, queue);
    return queue;
  }

  #weigh(queue: Queue, bytes: number): void {
    queue.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Sends the notices of a receiver until none are left. */
  async #run(to: string, queue: Queue): Promise<void> {
    await this.#gather(queue);
    let pauseMs = NOTICE_RETRY_MS_MIN;
    while (!this.#hasEnded && queue.notices.length > 0) {
      const batch = batchOf(queue.notices);
      // During a return to an earlier release, unsent notices would keep their actors from moving.
      if (!this.#ports.isOn()) {
        this.#confirm(queue, batch);
        continue;
      }
      try {
        await this.#ports.log.whenNoticed(Math.max(...batch.map(({ offset }) => offset)));
        await this.#ports.send(to, batch.map(sentOf));
        if (this.#hasEnded) return;
        queue.failingSinceMs = undefined;
        this.#report(batch);
        this.#confirm(queue, batch);
        pauseMs = NOTICE_RETRY_MS_MIN;
      } catch (error) {
        if (this.#hasEnded) return;
        queue.failingSinceMs ??= this.#ports.clock.monotonicMs();
        this.#ports.metrics.failed();
        if (toFault(error).code !== 'service_unavailable') this.#ports.onBug(error);
        await sleep(this.#ports.clock, pauseMs);
        pauseMs = Math.min(2 * pauseMs, NOTICE_RETRY_MS_MAX);
      }
    }
    queue.isRunning = false;
    if (this.#queues.get(to) === queue) this.#queues.delete(to);
  }

  /** Waits for further notices, unless somebody waits for the present ones. */
  async #gather(queue: Queue): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.hurry = resolve;
    using _timer = this.#ports.clock.after(NOTICES_LINGER_MS, resolve);
    await promise;
    queue.hurry = undefined;
  }

  #report(batch: readonly Queued[]): void {
    const nowMs = this.#ports.clock.monotonicMs();
    for (const { sinceMs } of batch) this.#ports.metrics.sent((nowMs - sinceMs) / 1_000);
  }

  /** Removes the oldest notices of a queue, and ends the waits for them. */
  #confirm(queue: Queue, batch: readonly Queued[]): void {
    queue.notices.splice(0, batch.length);
    for (const notice of batch) {
      this.#weigh(queue, -bytesOf(notice));
      this.#endWaits(notice);
    }
  }

  #endWaits({ actorId, version }: Queued): void {
    const unsent = this.#unsent.get(actorId);
    if (unsent === undefined) return;
    const isDone = (waiter: { readonly version: number }) => waiter.version <= version;
    const done = unsent.waiters.filter(isDone);
    unsent.waiters = unsent.waiters.filter((waiter) => !isDone(waiter));
    if (unsent.newest <= version) this.#unsent.delete(actorId);
    for (const { resolve } of done) resolve();
  }
}

/** Estimated bytes of a notice in memory, without its content. */
const NOTICE_BYTES = 150;

function bytesOf({ bytes }: Pick<Notice, 'bytes'>): number {
  return NOTICE_BYTES + bytes;
}

/** Oldest notices that one call may carry. At least one. */
function batchOf(notices: readonly Queued[]): readonly Queued[] {
  let bytes = 0;
  let count = 0;
  for (const notice of notices) {
    bytes += bytesOf(notice);
    if (count > 0 && (bytes > NOTICES_PER_CALL_BYTES_MAX || count === NOTICES_PER_CALL_MAX)) break;
    count += 1;
  }
  return notices.slice(0, count);
}

function sentOf({ actorId, version, atMs, body }: Queued): SentNotice {
  return { actorId, version, atMs, body };
}

function notSent(): Fault {
  const text = 'the log of transitions cannot be reached';
  return faultFor('engine_unavailable', text, { retryAfterS: 1 });
}
