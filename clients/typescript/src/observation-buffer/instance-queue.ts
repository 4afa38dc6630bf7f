import { waitMs } from '../retry.ts';
import { type Batch, cutBatch, type Item, sendableAtMs } from './batch.ts';
import type { Outcome } from './outcome.ts';
import { AHEAD_MS_MAX, INTERVAL_MS } from './spacing.ts';

/** How a queue is emptied. */
export type QueuePolicy = {
  readonly itemsMax: number;
  readonly delayMaxMs: number;
  /** Items up to this ordinal do not wait for others. */
  readonly urgentUpTo: number;
};

/** Items that are done with by an outcome. */
export type Settled = {
  readonly items: readonly Item[];
  /** Whether they are durable; the others are rejected. */
  readonly isAcknowledged: boolean;
};

/**
 * How old a key may be for a batch whose outcome is open to be sent again, in milliseconds: the service keeps it
 * for 24 h (interface 7.2), and clocks differ.
 */
const KEY_AGE_MS_MAX = 23 * 3_600_000;

/**
 * What one instance still has to be sent, in order, and the one batch that is under way. Takes time as a value
 * and sends nothing itself.
 */
export class InstanceQueue {
  readonly instanceId: string;
  /** What waits: observations, and batches that have their key already. */
  #waiting: (Item | Batch)[] = [];
  #current: Batch | undefined;
  #floorMs: number | undefined;
  #notBeforeMs = 0;
  #failures = 0;
  #count = 0;

  constructor(instanceId: string, floorMs: number | undefined) {
    this.instanceId = instanceId;
    this.#floorMs = floorMs;
  }

  /** Observations in it, those under way included. */
  get count(): number {
    return this.#count;
  }

  /** The earliest timestamp that the instance takes next, in Unix milliseconds; undefined where it is not known. */
  get floorMs(): number | undefined {
    return this.#floorMs;
  }

  /** Everything in it, in order. */
  items(): Item[] {
    const waiting = this.#waiting.flatMap((entry) => ('items' in entry ? entry.items : entry));
    return [...(this.#current?.items ?? []), ...waiting];
  }

  /** Takes in an observation behind all others. */
  add(item: Item): void {
    this.#waiting.push(item);
    this.#count += 1;
  }

  /** Takes batches back in front of what waits. */
  restore(batches: readonly Batch[]): void {
    this.#waiting.unshift(...batches);
    for (const { items } of batches) this.#count += items.length;
  }

  /** Whether its first batch must not be sent again, because the service may have forgotten its key. */
  isExpired(nowMs: number): boolean {
    const batch = this.#current ?? this.#waiting[0];
    if (batch === undefined || !('items' in batch) || !batch.mayHaveHappened) return false;
    return nowMs - (batch.sentAtMs ?? nowMs) > KEY_AGE_MS_MAX;
  }

  /** When there is something to send, in Unix milliseconds; undefined where nothing waits. */
  dueAtMs(nowMs: number, { itemsMax, delayMaxMs, urgentUpTo }: QueuePolicy): number | undefined {
    const first = this.#current ?? this.#waiting[0];
    if (first === undefined || this.isExpired(nowMs)) return undefined;
    if ('items' in first) {
      return Math.max(this.#notBeforeMs, (first.newestMs ?? 0) - AHEAD_MS_MAX);
    }
    const isUrgent = this.#waiting.length >= itemsMax || first.ordinal <= urgentUpTo;
    // A clock that was set back makes nothing wait longer than it should.
    const collectedAtMs = isUrgent ? 0 : Math.min(first.addedAtMs, nowMs) + delayMaxMs;
    return Math.max(this.#notBeforeMs, collectedAtMs, sendableAtMs(first, this.#floorMs));
  }

  /** The batch to send now: the one whose outcome is open, or a new one. None where nothing is due. */
  take(nowMs: number, policy: QueuePolicy): Batch | undefined {
    const dueMs = this.dueAtMs(nowMs, policy);
    if (dueMs === undefined || dueMs > nowMs) return undefined;
    this.#current ??= this.#next(policy.itemsMax, nowMs + AHEAD_MS_MAX);
    if (this.#current !== undefined) this.#current.sentAtMs ??= nowMs;
    return this.#current;
  }

  /** What an outcome of the batch under way has settled. */
  settle(outcome: Outcome, nowMs: number, random: () => number): Settled {
    const batch = this.#current;
    if (batch === undefined) throw new Error('there is no batch under way');
    switch (outcome.kind) {
      case 'acknowledged':
        if (batch.newestMs !== undefined) this.#floorMs = batch.newestMs + INTERVAL_MS;
        return this.#done(batch.items, true);
      case 'throttled':
        this.#floorMs = Math.max(this.#floorMs ?? 0, nowMs + outcome.retryAfterMs);
        this.#back(batch.items);
        return this.#waitAgain(this.#failures === 0 ? 0 : undefined, nowMs, random);
      case 'one_rejected': {
        const rejected = batch.items.slice(outcome.index, outcome.index + 1);
        this.#back(batch.items.filter((_, index) => index !== outcome.index));
        return this.#done(rejected, false);
      }
      case 'all_rejected':
        return this.#done(batch.items, false);
      case 'no_instance': {
        const items = this.items();
        this.#waiting = [];
        return this.#done(items, false);
      }
      case 'stopped':
        batch.mayHaveHappened ||= outcome.error.mayHaveHappened;
        return NOTHING;
      case 'again':
        batch.mayHaveHappened ||= outcome.mayHaveHappened;
        return this.#waitAgain(outcome.retryAfterMs, nowMs, random);
    }
  }

  /** Everything that is left, in order, as batches with keys. Empties the queue. */
  drain(itemsMax: number): Batch[] {
    const batches: Batch[] = [];
    for (;;) {
      const batch = this.#current ?? this.#next(itemsMax, Number.POSITIVE_INFINITY);
      if (batch === undefined) return batches;
      batches.push(batch);
      if (batch.newestMs !== undefined) this.#floorMs = batch.newestMs + INTERVAL_MS;
      this.#done(batch.items, false);
    }
  }

  /** The first batch of what waits. */
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

  #back(items: readonly Item[]): void {
    this.#waiting.unshift(...items);
    this.#current = undefined;
  }

  #done(items: readonly Item[], isAcknowledged: boolean): Settled {
    this.#current = undefined;
    this.#count -= items.length;
    this.#failures = 0;
    this.#notBeforeMs = 0;
    return { items, isAcknowledged };
  }

  #waitAgain(askedMs: number | undefined, nowMs: number, random: () => number): Settled {
    this.#failures += 1;
    const isAtOnce = askedMs === 0;
    this.#notBeforeMs = isAtOnce ? 0 : nowMs + waitMs(this.#failures, askedMs, random);
    return NOTHING;
  }
}

const NOTHING: Settled = { items: [], isAcknowledged: false };
