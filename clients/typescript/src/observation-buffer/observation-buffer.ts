import { waitMs } from '../calls/retry.ts';
import type { IdentityEngine } from '../client.ts';
import { type ApiError, IdentityEngineError } from '../errors.ts';
import type { BatchObservation } from '../models.ts';
import type { InstanceHandle } from '../resources/instance-handle.ts';
import { Backlog, BufferClosedError } from './backlog.ts';
import { BATCH_ITEMS_MAX, type Batch, type Item, itemOf } from './batch.ts';
import { BatchSender } from './batch-sender.ts';
import { type BufferClock, type Moment, momentOf, systemClock } from './buffer-clock.ts';
import { BufferSpool } from './buffer-spool.ts';
import type {
  BufferOptions,
  CloseResult,
  RejectedObservation,
  ThrottledObservation,
  UnacknowledgedBatch,
} from './buffer-types.ts';
import { Dispatcher } from './dispatcher.ts';
import { InstanceQueue, type Settled } from './instance-queue.ts';
import { notSent, type Outcome, outcomeOfError, outcomeOfResult } from './outcome.ts';
import { RecentFloors } from './recent-floors.ts';
import { timeOf } from './spacing.ts';

/** Converts a batch to plain data for the caller. */
function handedBack(instanceId: string, batch: Batch): UnacknowledgedBatch {
  const { idempotencyKey, items, observations, mayHaveHappened, sentAtMs = null } = batch;
  const timestampsFrom = items.map(({ timestampFrom }) => timestampFrom);
  const facts = { mayHaveHappened, sentAtMs, timestampsFrom };
  return { instanceId, idempotencyKey, observations, ...facts };
}

/**
 * Restores a batch from plain data with the same keys and the same body, even if a store has
 * reordered object keys.
 */
function takenBack(
  { idempotencyKey, observations, mayHaveHappened, sentAtMs, timestampsFrom }: UnacknowledgedBatch,
  ordinal: () => number,
  now: Moment,
): Batch {
  const times = observations.map(({ timestamp = '' }) => timeOf(timestamp) ?? Number.NaN);
  const newestMs = times.filter((ms) => !Number.isNaN(ms)).at(-1);
  const items = observations.map((observation, index) => {
    const item = itemOf(observation, now)(ordinal());
    return { ...item, timestampFrom: timestampsFrom?.[index] ?? item.timestampFrom };
  });
  return {
    ...{ idempotencyKey, observations: items.map(({ observation }) => observation), items },
    ...{ newestMs, mayHaveHappened, sentAtMs: sentAtMs ?? undefined, isLeft: false },
  };
}

/** Share of the maximum delay for which a small batch waits for batches of other instances. */
const JOIN_SHARE = 0.1;

/** Default time limit of `close`, in milliseconds. */
const CLOSE_TIMEOUT_MS = 30_000;

type Hook = 'onRejected' | 'onThrottled' | 'onAcknowledged';

type Bounds = Record<'batchMax' | 'delayMaxMs' | 'pendingMax' | 'instancesAtOnce', number>;

/**
 * Collects observations for many instances and sends batches, in order per instance. The buffer
 * sets missing timestamps so that the service does not throttle. A timestamp of the caller stays
 * unchanged, and the buffer reports throttling. Every observation has an idempotency key, so that
 * the service applies each observation once. A call with unknown outcome is retried with the same
 * keys until the outcome is known. Use one buffer per instance at a time: the observations of one
 * buffer would throttle those of another buffer.
 */
export class ObservationBuffer {
  readonly #client: IdentityEngine;
  readonly #options: Bounds & Pick<BufferOptions, Hook>;
  readonly #clock: BufferClock;
  readonly #queues = new Map<string, InstanceQueue>();
  /** Handles of the caller, through which the batches of their instances are sent. */
  readonly #handles = new Map<string, InstanceHandle>();
  readonly #heldBack = new Set<InstanceQueue>();
  readonly #floors: RecentFloors;
  readonly #backlog: Backlog;
  readonly #dispatcher: Dispatcher;
  readonly #sender: BatchSender;
  readonly #aborted = new AbortController();
  readonly #spool: BufferSpool | undefined;
  /** Resolves when the spool's entries are queued; rejects if the spool cannot be read. */
  readonly #recovered: Promise<void> | undefined;
  /** Spool entries that must not be sent again. */
  #old: readonly UnacknowledgedBatch[] = [];
  readonly #rejected: RejectedObservation[] = [];
  #rejectedCount = 0;
  readonly #throttled: ThrottledObservation[] = [];
  #throttledCount = 0;
  #acknowledged = 0;
  #replayed = 0;
  #urgentUpTo = 0;
  #error: ApiError | undefined;
  #closing: Promise<CloseResult> | undefined;

  /** Throws an `IdentityEngineError` for options out of range. `clock` is for tests. */
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
    const joinMs = this.#options.delayMaxMs * JOIN_SHARE;
    this.#sender = new BatchSender(client, clock, joinMs, options.fleetCalls ?? true);
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
    if (options.spool === undefined) return;
    this.#spool = new BufferSpool(options.spool, this.#options.pendingMax);
    this.#recovered = this.#recover(this.#spool);
    // The methods of the buffer throw the error.
    this.#recovered.catch(() => undefined);
  }

  /** Observations in the buffer, neither acknowledged nor rejected. */
  get pending(): number {
    return this.#backlog.held;
  }

  /**
   * Error that stopped the buffer, an `UnauthorizedError` or a `ForbiddenError`; undefined while
   * running.
   */
  get error(): ApiError | undefined {
    return this.#error;
  }

  /**
   * Adds an observation after its instance's earlier observations. Resolves when the buffer has
   * space, and with a spool when the observation is durable. `instance`: id or handle; a handle also
   * updates its guards with the contract of the answer. The default `timestamp` is the time of this
   * call. The default `idempotency_key` is a new UUIDv7. The service applies observations with the
   * same key only once within 24 hours. Throws `SpoolError`, `BufferClosedError`, the `error` of a
   * stopped buffer, the reason of `signal`, or an `IdentityEngineError` for values that JSON cannot
   * represent.
   */
  async add(
    instance: string | InstanceHandle,
    observation: BatchObservation,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    this.#assertOpen();
    const instanceId = typeof instance === 'string' ? instance : instance.id;
    const make = itemOf(observation, momentOf(this.#clock));
    const enqueue = (item: Item) => {
      if (typeof instance !== 'string') this.#handles.set(instanceId, instance);
      this.#enqueue(instanceId, item);
    };
    const enter = () => enqueue(make(this.#backlog.nextOrdinal()));
    if (this.#spool === undefined) return await this.#backlog.enter(enter, signal);
    await this.#recovered;
    this.#assertOpen();
    await this.#backlog.enter(() => {}, signal);
    try {
      const floorMs = this.#queues.get(instanceId)?.floorMs ?? this.#floors.of(instanceId);
      const item = await this.#spool.add(instanceId, make(this.#backlog.newest), floorMs);
      enqueue({ ...item, ordinal: this.#backlog.nextOrdinal() });
    } catch (error) {
      this.#backlog.giveBack();
      throw error;
    }
  }

  /**
   * Waits, without a time limit, until all observations added before are acknowledged, throttled or
   * rejected. Does not wait for batches that must not be retried: `close` returns these batches.
   * Throws `SpoolError`, the `error` of a stopped buffer, and `BufferClosedError` if `close`
   * returns some of the observations.
   */
  async flush(): Promise<void> {
    await this.#recovered;
    if (this.#error !== undefined) throw this.#error;
    await this.#finish(this.#backlog.newest);
  }

  /**
   * Accepts no more observations, sends the remaining observations for up to `timeoutMs`
   * milliseconds, and returns the outcomes of all. Does not throw. Repeated calls return the same
   * result.
   */
  close({ timeoutMs = CLOSE_TIMEOUT_MS }: { timeoutMs?: number } = {}): Promise<CloseResult> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /**
   * Restores batches that `close` returned in this or another process. Sends these batches before
   * all other observations of the same instances, with the same keys, so that the service applies
   * nothing twice. The service forgets keys. A batch that may have been applied and was first sent
   * more than 23 hours ago is therefore not sent, and `close` returns this batch again. Throws
   * `BufferClosedError`, the `error` of a stopped buffer, and an `IdentityEngineError` if the
   * buffer has a spool, which already contains all unfinished observations.
   */
  restore(unacknowledged: readonly UnacknowledgedBatch[]): void {
    this.#assertOpen();
    if (this.#spool !== undefined) {
      throw new IdentityEngineError('a buffer with a spool restores only from its spool');
    }
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

  async #recover(spool: BufferSpool): Promise<void> {
    const ordinal = () => this.#backlog.nextOrdinal();
    const { items, old } = await spool.load(momentOf(this.#clock), ordinal);
    this.#old = old;
    this.#backlog.take(items.length);
    for (const [instanceId, item] of items) this.#enqueue(instanceId, item);
  }

  #enqueue(instanceId: string, item: Item): void {
    const queue = this.#queueOf(instanceId);
    queue.add(item);
    this.#dispatcher.plan(queue);
  }

  async #send(queue: InstanceQueue, batch: Batch): Promise<void> {
    const { idempotencyKey, observations } = batch;
    const { signal } = this.#aborted;
    const instance = this.#handles.get(queue.instanceId) ?? this.#client.instance(queue.instanceId);
    let isMoved = false;
    const send = async () => {
      await this.#spool?.move(queue.instanceId, batch);
      isMoved = true;
      return await this.#sender.send(instance, observations, { idempotencyKey, signal });
    };
    const outcome = await send().then(
      (result) => outcomeOfResult(result, observations.length),
      (error: unknown) =>
        isMoved
          ? outcomeOfError(error, observations.length, batch.mayHaveHappened)
          : notSent(batch.mayHaveHappened),
    );
    this.#apply(queue, batch, outcome);
  }

  #apply(queue: InstanceQueue, batch: Batch, outcome: Outcome): void {
    const random = () => this.#clock.random();
    const settled = queue.settle(outcome, momentOf(this.#clock), random);
    const { instanceId } = queue;
    const { acknowledged, rejected, throttled } = settled;
    const done = [...acknowledged, ...rejected, ...throttled];
    this.#spool?.done(instanceId, done);
    if (queue.count === 0) {
      this.#queues.delete(instanceId);
      this.#handles.delete(instanceId);
      this.#floors.keep(instanceId, queue.floorMs);
    }
    // Call hooks last: they may call any method of the buffer.
    if (outcome.kind === 'again' && outcome.isOfAccount) {
      this.#dispatcher.pause(waitMs(1, outcome.retryAfterMs, random));
    } else if (outcome.kind === 'stopped') {
      this.#stop(outcome.error);
    }
    this.#acknowledged += acknowledged.length;
    this.#backlog.settle(done);
    this.#report(instanceId, batch, settled, outcome);
  }

  /** Counts finished items, keeps failed items for `close`, and calls the hooks. */
  #report(instanceId: string, batch: Batch, settled: Settled, outcome: Outcome): void {
    const { acknowledged, rejected, throttled } = settled;
    const refused = 'error' in outcome ? outcome.error : undefined;
    const ofRejected = rejected.flatMap(({ observation }) =>
      refused === undefined ? [] : [{ instanceId, observation, error: refused }],
    );
    const retryAfterMs = outcome.kind === 'throttled' ? outcome.retryAfterMs : 0;
    const ofThrottled = throttled.map(({ observation }) => {
      return { instanceId, observation, retryAfterMs };
    });
    this.#rejectedCount += ofRejected.length;
    this.#keep(this.#rejected, ofRejected);
    this.#throttledCount += ofThrottled.length;
    this.#keep(this.#throttled, ofThrottled);
    if ('result' in outcome && outcome.result !== undefined && acknowledged.length > 0) {
      const isWhole = outcome.kind === 'acknowledged';
      const replayed = isWhole ? outcome.replayed : acknowledged.length;
      this.#replayed += replayed;
      const observations = isWhole
        ? batch.observations
        : acknowledged.map(({ observation }) => observation);
      const { result } = outcome;
      call(this.#options.onAcknowledged, { instanceId, observations, replayed, result });
    }
    for (const each of ofRejected) call(this.#options.onRejected, each);
    for (const each of ofThrottled) call(this.#options.onThrottled, each);
  }

  /** Appends failed items and keeps the newest `pendingMax`. */
  #keep<T>(kept: T[], more: readonly T[]): void {
    kept.push(...more);
    kept.splice(0, Math.max(0, kept.length - this.#options.pendingMax));
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

  /** Resolves when all sendable observations up to this ordinal are finished. */
  async #finish(upTo: number): Promise<void> {
    this.#urgentUpTo = Math.max(this.#urgentUpTo, upTo);
    for (const queue of this.#queues.values()) this.#dispatcher.plan(queue);
    const sendable = [...this.#queues.values()].filter((queue) => !this.#heldBack.has(queue));
    await this.#backlog.done(sendable.reduce((sum, { count }) => sum + count, 0));
  }

  async #close(timeoutMs: number): Promise<CloseResult> {
    this.#backlog.end(new BufferClosedError(), false);
    await this.#recovered?.catch(() => undefined);
    await this.#spool?.idle();
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
    await this.#spool?.close();
    return {
      ...{ acknowledged: this.#acknowledged, replayed: this.#replayed },
      ...{ rejected: this.#rejected, rejectedCount: this.#rejectedCount },
      ...{ throttled: this.#throttled, throttledCount: this.#throttledCount },
      unacknowledged: [...this.#old, ...unacknowledged],
    };
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
    // Ignore exceptions of hooks, which must not disturb the order.
  }
}

function integer(name: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new IdentityEngineError(`${name} must be an integer from ${min} to ${max}, not ${value}`);
}
