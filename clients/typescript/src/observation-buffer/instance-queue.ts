import { waitMs } from '../calls/retry.ts';
import { type Batch, cutBatch, type Item, sendableAtMs } from './batch.ts';
import type { Moment } from './buffer-clock.ts';
import type { Outcome } from './outcome.ts';
import { AHEAD_MS_MAX, INTERVAL_MS, timeOf } from './spacing.ts';

/** Parameters for cutting batches from a queue. */
export type QueuePolicy = {
  readonly itemsMax: number;
  readonly delayMaxMs: number;
  /** Items up to this ordinal are sent without waiting for more items. */
  readonly urgentUpTo: number;
};

/** Items finished by an outcome. */
export type Settled = {
  /** Durable items. */
  readonly acknowledged: readonly Item[];
  readonly rejected: readonly Item[];
  /** Items with a timestamp of the caller that was too early. */
  readonly throttled: readonly Item[];
};

/**
 * Maximum age of an idempotency key for a retry, in milliseconds. The service keeps keys for 24 h
 * (interface 7.2); the remaining hour allows for clock differences.
 */
export const KEY_AGE_MS_MAX = 23 * 3_600_000;

/**
 * Ordered queue of one instance, with at most one batch in flight. Pure: receives time as a value
 * and sends nothing.
 */
export class InstanceQueue {
  readonly instanceId: string;
  /** Waiting entries: observations, and batches that already have a key. */
  #waiting: (Item | Batch)[] = [];
  #current: Batch | undefined;
  #floorMs: number | undefined;
  /** Earliest time of the next attempt, in monotonic milliseconds. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /**
   * Bisection state: the refused observation is among the first `count` observations, and the next
   * batches have at most `itemsMax` observations.
   */
  #suspects = NO_SUSPECTS;
  #count = 0;

  constructor(instanceId: string, floorMs: number | undefined) {
    this.instanceId = instanceId;
    this.#floorMs = floorMs;
  }

  /** Number of observations, including the batch in flight. */
  get count(): number {
    return this.#count;
  }

  /** Earliest accepted next timestamp in Unix milliseconds; undefined if unknown. */
  get floorMs(): number | undefined {
    return this.#floorMs;
  }

  /** All items in order. */
  items(): Item[] {
    const waiting = this.#waiting.flatMap((entry) => ('items' in entry ? entry.items : entry));
    return [...(this.#current?.items ?? []), ...waiting];
  }

  /** Appends an observation. */
  add(item: Item): void {
    this.#waiting.push(item);
    this.#count += 1;
  }

  /** Puts batches back at the front of the queue. */
  restore(batches: readonly Batch[]): void {
    this.#waiting.unshift(...batches);
    for (const { items } of batches) this.#count += items.length;
  }

  /**
   * Whether the first batch must not be sent again, because the service may have forgotten its key
   * or a retry cannot reveal the outcome.
   */
  isHeldBack({ unixMs }: Moment): boolean {
    const batch = this.#current ?? this.#waiting[0];
    if (batch === undefined || !('items' in batch)) return false;
    const isOld = unixMs - (batch.sentAtMs ?? unixMs) > KEY_AGE_MS_MAX;
    return batch.isLeft || (batch.mayHaveHappened && isOld);
  }

  /** Milliseconds until a batch is due, ≤ 0 for now; undefined for an empty queue. */
  dueInMs(now: Moment, { itemsMax, delayMaxMs, urgentUpTo }: QueuePolicy): number | undefined {
    const first = this.#current ?? this.#waiting[0];
    if (first === undefined || this.isHeldBack(now)) return undefined;
    const backoffMs = this.#notBeforeMs - now.steadyMs;
    if ('items' in first) {
      // A batch that was sent before was not too far ahead, so the clock does not delay retries.
      const aheadMs = first.sentAtMs === undefined ? (first.newestMs ?? 0) - now.unixMs : 0;
      return Math.max(backoffMs, aheadMs - AHEAD_MS_MAX);
    }
    const isUrgent = this.#waiting.length >= itemsMax || first.ordinal <= urgentUpTo;
    const collectMs = isUrgent ? 0 : first.addedAtSteadyMs + delayMaxMs - now.steadyMs;
    return Math.max(backoffMs, collectMs, sendableAtMs(first, this.#floorMs) - now.unixMs);
  }

  /**
   * Batch to send now: the batch with an unknown outcome, or a new batch. Undefined if nothing is
   * due.
   */
  take(now: Moment, policy: QueuePolicy): Batch | undefined {
    const dueMs = this.dueInMs(now, policy);
    if (dueMs === undefined || dueMs > 0) return undefined;
    const itemsMax = Math.min(policy.itemsMax, this.#suspects.itemsMax);
    this.#current ??= this.#next(itemsMax, now.unixMs + AHEAD_MS_MAX);
    if (this.#current !== undefined) this.#current.sentAtMs ??= now.unixMs;
    return this.#current;
  }

  /** Applies the outcome of the batch in flight and returns the finished items. */
  settle(outcome: Outcome, now: Moment, random: () => number): Settled {
    const batch = this.#current;
    if (batch === undefined) throw new Error('no batch is in flight');
    switch (outcome.kind) {
      case 'acknowledged':
        if (batch.newestMs !== undefined) this.#floorMs = batch.newestMs + INTERVAL_MS;
        return this.#done({ acknowledged: batch.items });
      case 'throttled':
        return this.#throttle(batch, outcome, now, random);
      case 'one_rejected': {
        const rejected = batch.items.slice(outcome.index, outcome.index + 1);
        this.#back(batch.items.filter((_, index) => index !== outcome.index));
        return this.#done({ rejected });
      }
      case 'refused':
        return this.#halve(batch.items);
      case 'no_instance': {
        // Batches that may have taken effect before the deletion are not rejected.
        const open = this.#waiting.filter((entry) => 'items' in entry && entry.mayHaveHappened);
        this.#waiting = this.#waiting.filter((entry) => !open.includes(entry));
        const items = this.items();
        this.#waiting = open;
        return this.#done({ rejected: items });
      }
      case 'left':
        batch.isLeft = true;
        batch.mayHaveHappened = true;
        return NOTHING;
      case 'stopped':
        batch.mayHaveHappened ||= outcome.error.mayHaveHappened;
        return NOTHING;
      case 'again':
        batch.mayHaveHappened ||= outcome.mayHaveHappened;
        return this.#waitAgain(outcome.retryAfterMs, now, random);
    }
  }

  /** Removes all entries and returns them as batches with keys, in order. */
  drain(itemsMax: number): Batch[] {
    const batches: Batch[] = [];
    for (;;) {
      const batch = this.#current ?? this.#next(itemsMax, Number.POSITIVE_INFINITY);
      if (batch === undefined) return batches;
      batches.push(batch);
      if (batch.newestMs !== undefined) this.#floorMs = batch.newestMs + INTERVAL_MS;
      this.#done({ rejected: batch.items });
    }
  }

  /** Takes the first batch from the waiting entries. */
  #next(itemsMax: number, ceilingMs: number): Batch | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    if ('items' in first) {
      this.#waiting.shift();
      return first;
    }
    const items: Item[] = [];
    for (const entry of this.#waiting) {
      if ('items' in entry || items.length === itemsMax) break;
      items.push(entry);
    }
    const batch = cutBatch(items, { itemsMax, floorMs: this.#floorMs, ceilingMs });
    this.#waiting.splice(0, batch?.items.length ?? 0);
    return batch;
  }

  /**
   * Finishes replayed observations, and throttled observations with a timestamp of the caller. Puts
   * the other observations back, to be sent with new timestamps.
   */
  #throttle(
    { items, observations }: Batch,
    { replayed, retryAfterMs }: Extract<Outcome, { kind: 'throttled' }>,
    now: Moment,
    random: () => number,
  ): Settled {
    const timesMs = observations.map(({ timestamp = '' }) => timeOf(timestamp) ?? now.unixMs);
    const first = items.findIndex((_, index) => !replayed.has(index));
    // `Retry-After` counts from the first observation's timestamp (interface 8.3).
    const floorMs = (timesMs[first] ?? now.unixMs) + retryAfterMs;
    this.#floorMs = Math.max(this.#floorMs ?? 0, floorMs);
    const settled = { acknowledged: [] as Item[], throttled: [] as Item[] };
    const left: Item[] = [];
    for (const [index, item] of items.entries()) {
      // `Retry-After` is rounded up to seconds: an observation less than a second below the floor
      // may be late enough.
      const isEarly = index === first || (timesMs[index] ?? 0) <= floorMs - INTERVAL_MS;
      if (replayed.has(index)) settled.acknowledged.push(item);
      else if (isEarly && item.timestampFrom === 'caller') settled.throttled.push(item);
      else left.push({ ...item, isFixed: false });
    }
    this.#back(left);
    if (left.length < items.length) return this.#done(settled);
    // The first retry with new timestamps needs no delay. If the service throttles this retry too,
    // another writer may use the instance.
    return this.#waitAgain(this.#failures === 0 ? 'immediately' : undefined, now, random);
  }

  /** Bisects a refused batch down to the single refused observation, which is rejected. */
  #halve(items: readonly Item[]): Settled {
    if (items.length === 1) {
      this.#suspects = NO_SUSPECTS;
      return this.#done({ rejected: items });
    }
    this.#back(items);
    this.#suspects = { count: items.length, itemsMax: Math.ceil(items.length / 2) };
    return NOTHING;
  }

  #back(items: readonly Item[]): void {
    this.#waiting.unshift(...items);
    this.#current = undefined;
  }

  #done(part: Partial<Settled>): Settled {
    const settled = { ...NOTHING, ...part };
    const { acknowledged, rejected, throttled } = settled;
    const count = acknowledged.length + rejected.length + throttled.length;
    this.#current = undefined;
    this.#count -= count;
    this.#failures = 0;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
    const suspects = this.#suspects.count - count;
    this.#suspects = suspects > 0 ? { ...this.#suspects, count: suspects } : NO_SUSPECTS;
    return settled;
  }

  #waitAgain(
    asked: number | 'immediately' | undefined,
    { steadyMs }: Moment,
    random: () => number,
  ): Settled {
    this.#failures += 1;
    const wait = asked === 'immediately' ? 0 : waitMs(this.#failures, asked, random);
    this.#notBeforeMs = steadyMs + wait;
    return NOTHING;
  }
}

const NO_SUSPECTS = { count: 0, itemsMax: Number.POSITIVE_INFINITY };

const NOTHING: Settled = { acknowledged: [], rejected: [], throttled: [] };
