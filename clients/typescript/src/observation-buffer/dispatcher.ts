import type { Batch } from './batch.ts';
import { type BufferClock, momentOf } from './buffer-clock.ts';
import type { InstanceQueue, QueuePolicy } from './instance-queue.ts';

/** Maximum time between checks of a queue, in milliseconds: the wall clock may change. */
const CHECK_MS_MAX = 60_000;

/** Dependencies of a dispatcher. */
export type DispatcherPorts = {
  readonly clock: BufferClock;
  /** Maximum queues with a batch in flight. */
  readonly queuesAtOnce: number;
  policy(): QueuePolicy;
  /** Sends a batch and applies the outcome to the queue. Never rejects. */
  send(queue: InstanceQueue, batch: Batch): Promise<void>;
  /** Called for a queue whose first batch must not be sent again. */
  onHeldBack(queue: InstanceQueue): void;
};

/** Sends due batches: one per queue at a time, from a bounded number of queues. */
export class Dispatcher {
  readonly #ports: DispatcherPorts;
  readonly #timers = new Map<InstanceQueue, () => void>();
  readonly #due = new Set<InstanceQueue>();
  readonly #sending = new Map<InstanceQueue, Promise<void>>();
  /** End of the pause, in monotonic milliseconds. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #endPause: (() => void) | undefined;
  #isStopped = false;

  constructor(ports: DispatcherPorts) {
    this.#ports = ports;
  }

  /** Schedules a queue after a change. */
  plan(queue: InstanceQueue): void {
    if (this.#isStopped || this.#sending.has(queue)) return;
    this.#timers.get(queue)?.();
    this.#timers.delete(queue);
    const { clock, policy, onHeldBack } = this.#ports;
    const now = momentOf(clock);
    if (queue.isHeldBack(now)) onHeldBack(queue);
    const dueMs = queue.dueInMs(now, policy());
    if (dueMs === undefined) return;
    if (dueMs > 0) {
      const again = () => this.plan(queue);
      this.#timers.set(queue, clock.after(Math.min(dueMs, CHECK_MS_MAX), again));
      return;
    }
    this.#due.add(queue);
    this.#pump();
  }

  /** Starts no batch for `ms` milliseconds. */
  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#ports.clock.steady() + ms);
  }

  /** Starts no more batches. */
  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#endPause?.();
    this.#due.clear();
  }

  /** Resolves when no batch is in flight. */
  async idle(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values());
  }

  #pump(): void {
    const { clock, queuesAtOnce, policy } = this.#ports;
    const now = momentOf(clock);
    if (now.steadyMs < this.#pausedUntilMs) {
      this.#endPause ??= clock.after(this.#pausedUntilMs - now.steadyMs, () => {
        this.#endPause = undefined;
        this.#pump();
      });
      return;
    }
    for (const queue of this.#due) {
      if (this.#isStopped || this.#sending.size >= queuesAtOnce) return;
      this.#due.delete(queue);
      const batch = queue.take(now, policy());
      if (batch === undefined) this.plan(queue);
      else this.#send(queue, batch);
    }
  }

  #send(queue: InstanceQueue, batch: Batch): void {
    const sent = this.#ports.send(queue, batch).then(() => {
      this.#sending.delete(queue);
      this.plan(queue);
      this.#pump();
    });
    this.#sending.set(queue, sent);
  }
}
