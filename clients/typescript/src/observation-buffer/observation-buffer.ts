import type { IdentityEngine } from '../client.ts';
import { type ApiError, IdentityEngineError } from '../errors.ts';
import type { Observation } from '../models.ts';
import { waitMs } from '../retry.ts';
import { Backlog, BufferClosedError } from './backlog.ts';
import { BATCH_ITEMS_MAX, type Batch, itemOf } from './batch.ts';
import { handedBack, takenBack } from './batch-transfer.ts';
import { type BufferClock, momentOf, systemClock } from './buffer-clock.ts';
import type {
  BufferOptions,
  CloseResult,
  RejectedObservation,
  UnacknowledgedBatch,
} from './buffer-types.ts';
import { Dispatcher } from './dispatcher.ts';
import { InstanceQueue } from './instance-queue.ts';
import { type Outcome, outcomeOfError, outcomeOfResult } from './outcome.ts';
import { RecentFloors } from './recent-floors.ts';

/** How long `close` tries to finish unless it is asked otherwise, in milliseconds. */
const CLOSE_TIMEOUT_MS = 30_000;

type Bounds = Record<'batchMax' | 'delayMaxMs' | 'pendingMax' | 'instancesAtOnce', number>;

/**
 * Takes observations of many instances and sends them in batches, those of one instance in the order in which
 * they were added and each once. Every observation gets a timestamp that the service will not throttle; what
 * fails without a clear outcome is sent again under the same key until it is clear. An instance belongs to one
 * buffer at a time: two of them would throttle each other.
 */
export class ObservationBuffer {
  readonly #client: IdentityEngine;
  readonly #options: Bounds & Pick<BufferOptions, 'onRejected' | 'onAcknowledged'>;
  readonly #clock: BufferClock;
  readonly #queues = new Map<string, InstanceQueue>();
  readonly #heldBack = new Set<InstanceQueue>();
  readonly #floors: RecentFloors;
  readonly #backlog: Backlog;
  readonly #dispatcher: Dispatcher;
  readonly #aborted = new AbortController();
  readonly #rejected: RejectedObservation[] = [];
  #rejectedCount = 0;
  #acknowledged = 0;
  #urgentUpTo = 0;
  #error: ApiError | undefined;
  #closing: Promise<CloseResult> | undefined;

  /** Throws an `IdentityEngineError` for options out of their range. `clock` is for tests. */
  constructor(client: IdentityEngine, options: BufferOptions = {}, clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
    this.#options = {
      ...options,
      batchMax: integer('batchMax', options.batchMax ?? BATCH_ITEMS_MAX, 1, BATCH_ITEMS_MAX),
      delayMaxMs: integer('delayMaxMs', options.delayMaxMs ?? 50, 0),
      pendingMax: integer('pendingMax', options.pendingMax ?? 10_000, 1),
      instancesAtOnce: integer('instancesAtOnce', options.instancesAtOnce ?? 64, 1),
    };
    this.#floors = new RecentFloors(this.#options.pendingMax);
    this.#backlog = new Backlog(this.#options.pendingMax);
    this.#dispatcher = new Dispatcher({
      clock,
      queuesAtOnce: this.#options.instancesAtOnce,
      policy: () => ({
        itemsMax: this.#options.batchMax,
        delayMaxMs: this.#options.delayMaxMs,
        urgentUpTo: this.#urgentUpTo,
      }),
      send: (queue, batch) => this.#send(queue, batch),
      onHeldBack: (queue) => this.#holdBack(queue),
    });
  }

  /** Observations that are in the buffer: taken in, and neither acknowledged nor rejected. */
  get pending(): number {
    return this.#backlog.held;
  }

  /** Why the buffer has stopped sending: an `UnauthorizedError` or a `ForbiddenError`; undefined while it has not. */
  get error(): ApiError | undefined {
    return this.#error;
  }

  /**
   * Takes in an observation, behind those of the same instance; resolves once there is room for it. Without a
   * `timestamp` it has the time of this call. Throws `BufferClosedError`, the `error` of a buffer that has
   * stopped, the reason of `signal`, or an `IdentityEngineError` for what JSON cannot say.
   */
  async add(
    instanceId: string,
    observation: Observation,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    this.#assertOpen();
    const make = itemOf(observation, momentOf(this.#clock));
    const enter = () => {
      const queue = this.#queueOf(instanceId);
      queue.add(make(this.#backlog.nextOrdinal()));
      this.#dispatcher.plan(queue);
    };
    await this.#backlog.enter(enter, signal);
  }

  /**
   * Resolves when everything that was taken in before is acknowledged or rejected, however long that takes;
   * what must not be sent again is left to `close`. Throws the `error` of a buffer that has stopped, and
   * `BufferClosedError` where `close` hands some of it back.
   */
  async flush(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    await this.#finish(this.#backlog.newest);
  }

  /**
   * Takes nothing more in, sends what is left for up to `timeoutMs` milliseconds, and answers what became of
   * everything. Does not throw; called again it answers the same.
   */
  close({ timeoutMs = CLOSE_TIMEOUT_MS }: { timeoutMs?: number } = {}): Promise<CloseResult> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /**
   * Takes back what `close` of a buffer has handed back, also of another process, and sends it before anything
   * else of the same instances: under the same keys, so that nothing counts twice. What may have been carried
   * out more than 23 hours ago is not sent, because the service forgets keys; `close` hands it back again.
   * Throws `BufferClosedError` or the `error` of a buffer that has stopped.
   */
  restore(unacknowledged: readonly UnacknowledgedBatch[]): void {
    this.#assertOpen();
    const now = momentOf(this.#clock);
    const batches = new Map<string, Batch[]>();
    for (const each of unacknowledged) {
      const batch = takenBack(each, () => this.#backlog.nextOrdinal(), now);
      batches.set(each.instanceId, [...(batches.get(each.instanceId) ?? []), batch]);
      this.#backlog.take(batch.items.length);
    }
    for (const [instanceId, ofInstance] of batches) {
      const queue = this.#queueOf(instanceId);
      queue.restore(ofInstance);
      this.#dispatcher.plan(queue);
    }
  }

  async #send(queue: InstanceQueue, batch: Batch): Promise<void> {
    const { idempotencyKey, observations } = batch;
    const { signal } = this.#aborted;
    const instance = this.#client.instance(queue.instanceId);
    const outcome = await instance.processBatch(observations, { idempotencyKey, signal }).then(
      (result) => outcomeOfResult(result, observations.length),
      (error: unknown) => outcomeOfError(error, observations.length, batch.mayHaveHappened),
    );
    this.#apply(queue, batch, outcome);
  }

  #apply(queue: InstanceQueue, batch: Batch, outcome: Outcome): void {
    const random = () => this.#clock.random();
    const { items } = queue.settle(outcome, momentOf(this.#clock), random);
    const { instanceId } = queue;
    if (queue.count === 0) {
      this.#queues.delete(instanceId);
      this.#floors.keep(instanceId, queue.floorMs);
    }
    // Hooks come last: they may call any method of the buffer.
    if (outcome.kind === 'again' && outcome.isOfAccount) {
      this.#dispatcher.pause(waitMs(1, outcome.retryAfterMs, random));
    } else if (outcome.kind === 'stopped') {
      this.#stop(outcome.error);
    } else if (outcome.kind === 'acknowledged') {
      this.#acknowledged += items.length;
      this.#backlog.settle(items);
      const { observations } = batch;
      const { result } = outcome;
      call(this.#options.onAcknowledged, { instanceId, observations, result });
    } else if ('error' in outcome) {
      const { error } = outcome;
      const rejected = items.map(({ observation }) => ({ instanceId, observation, error }));
      this.#keep(rejected);
      this.#backlog.settle(items);
      for (const each of rejected) call(this.#options.onRejected, each);
    }
  }

  /** Counts rejected observations and keeps the newest of them. */
  #keep(rejected: readonly RejectedObservation[]): void {
    this.#rejectedCount += rejected.length;
    this.#rejected.push(...rejected);
    this.#rejected.splice(0, Math.max(0, this.#rejected.length - this.#options.pendingMax));
  }

  #stop(error: ApiError): void {
    this.#error ??= error;
    this.#dispatcher.stop();
    this.#backlog.end(this.#error, true);
  }

  #holdBack(queue: InstanceQueue): void {
    if (this.#heldBack.has(queue)) return;
    this.#heldBack.add(queue);
    this.#backlog.pass(queue.items());
  }

  /** Resolves when what can be sent up to this ordinal is done with. */
  async #finish(upTo: number): Promise<void> {
    this.#urgentUpTo = Math.max(this.#urgentUpTo, upTo);
    for (const queue of this.#queues.values()) this.#dispatcher.plan(queue);
    const sendable = [...this.#queues.values()].filter((queue) => !this.#heldBack.has(queue));
    await this.#backlog.done(sendable.reduce((sum, { count }) => sum + count, 0));
  }

  async #close(timeoutMs: number): Promise<CloseResult> {
    this.#backlog.end(new BufferClosedError(), false);
    if (this.#error === undefined) {
      let cancel = () => {};
      const late = new Promise<void>((resolve) => {
        cancel = this.#clock.after(timeoutMs, resolve);
      });
      await Promise.race([this.#finish(Number.POSITIVE_INFINITY).catch(() => undefined), late]);
      cancel();
    }
    this.#dispatcher.stop();
    this.#aborted.abort(new BufferClosedError());
    await this.#dispatcher.idle();
    const unacknowledged = [...this.#queues.values()].flatMap((queue) =>
      queue.drain(this.#options.batchMax).map((batch) => handedBack(queue.instanceId, batch)),
    );
    this.#backlog.end(new BufferClosedError(), true);
    const [acknowledged, rejectedCount] = [this.#acknowledged, this.#rejectedCount];
    return { acknowledged, rejected: this.#rejected, rejectedCount, unacknowledged };
  }

  #queueOf(instanceId: string): InstanceQueue {
    const present = this.#queues.get(instanceId);
    if (present !== undefined) return present;
    const queue = new InstanceQueue(instanceId, this.#floors.of(instanceId));
    this.#queues.set(instanceId, queue);
    return queue;
  }

  #assertOpen(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#closing !== undefined) throw new BufferClosedError();
  }
}

function call<T>(hook: ((value: T) => void) | undefined, value: T): void {
  try {
    const returned: unknown = hook?.(value);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // What a hook throws is no reason for the buffer to lose its order.
  }
}

function integer(name: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new IdentityEngineError(`${name} is an integer from ${min} to ${max}, not ${value}`);
}
