import { toJson } from '../json.ts';
import { uuid7 } from '../uuid7.ts';
import { type Batch, type Item, placedAt } from './batch.ts';
import type { Moment } from './buffer-clock.ts';
import type { UnacknowledgedBatch } from './buffer-types.ts';
import { KEY_AGE_MS_MAX } from './instance-queue.ts';
import { RecentFloors } from './recent-floors.ts';
import { INTERVAL_MS } from './spacing.ts';
import { type Spool, type SpoolEntry, SpoolError } from './spool.ts';

/** Entries left in a spool by earlier processes. */
export type Recovered = {
  /** Items to send in order, with the keys and timestamps of possible earlier attempts. */
  readonly items: readonly (readonly [instanceId: string, item: Item])[];
  /** Batches not to be sent, because the service may have forgotten their keys. */
  readonly old: readonly UnacknowledgedBatch[];
};

/** Spool access of one buffer. Throws `SpoolError` for errors of the spool. */
export class BufferSpool {
  readonly #spool: Spool;
  /** Earliest next timestamps for recently used instances. */
  readonly #next: RecentFloors;
  /** Settles when all earlier additions are durable or failed. */
  #added: Promise<unknown> = Promise.resolve();

  constructor(spool: Spool, instancesMax: number) {
    this.#spool = spool;
    this.#next = new RecentFloors(instancesMax);
  }

  /** Reads the entries of earlier processes. */
  async load(now: Moment, ordinal: () => number): Promise<Recovered> {
    const entries = await this.#spool.load().catch(fail);
    const isOld = ({ addedAtMs }: SpoolEntry) => now.unixMs - addedAtMs > KEY_AGE_MS_MAX;
    const items = entries
      .filter((entry) => !isOld(entry))
      .map((entry) => [entry.instanceId, this.#itemOf(entry, now, ordinal())] as const);
    return { items, old: entries.filter(isOld).map(leftOf) };
  }

  /**
   * Adds an item. Resolves to the item with its timestamp when the item is durable. A timestamp
   * that the buffer sets is at least `floorMs`. Calls resolve in the order in which they were made.
   */
  async add(instanceId: string, item: Item, floorMs: number | undefined): Promise<Item> {
    const floors = [floorMs, this.#next.of(instanceId)].filter((ms) => ms !== undefined);
    const timed = this.#timed(
      instanceId,
      item,
      floors.length === 0 ? undefined : Math.max(...floors),
    );
    const before = this.#added;
    const added = this.#spool.add([entryOf(instanceId, timed)]).catch(fail);
    this.#added = Promise.allSettled([before, added]);
    await before;
    await added;
    return timed;
  }

  /** Stores the new timestamps of a batch before the batch is sent. */
  async move(instanceId: string, { items, observations }: Batch): Promise<void> {
    const entries: SpoolEntry[] = [];
    for (const [index, item] of items.entries()) {
      const observation = observations[index];
      if (observation === undefined) continue;
      if (observation.timestamp === item.observation.timestamp) continue;
      entries.push(entryOf(instanceId, { ...item, observation }));
    }
    if (entries.length > 0) await this.#spool.add(entries).catch(fail);
  }

  /**
   * Marks items as done. If the spool cannot store the marks, a later process sends the items
   * again, and the service replays their answers.
   */
  done(instanceId: string, items: readonly Item[]): void {
    if (items.length === 0) return;
    const keys = items.map(({ observation }) => observation.idempotency_key);
    void this.#spool.done(instanceId, keys).catch(() => undefined);
  }

  /** Resolves when no addition is in progress. */
  async idle(): Promise<void> {
    await this.#added;
  }

  /** Closes the spool. */
  async close(): Promise<void> {
    await this.#spool.close().catch(() => undefined);
  }

  #timed(instanceId: string, item: Item, floorMs: number | undefined): Item {
    const { ms, timestamp } = placedAt(item, floorMs);
    const observation = { ...item.observation, timestamp };
    if (ms !== undefined) {
      this.#next.keep(instanceId, Math.max(floorMs ?? 0, ms + INTERVAL_MS));
    }
    return { ...item, observation };
  }

  #itemOf(entry: SpoolEntry, now: Moment, ordinal: number): Item {
    const { instanceId, observation, timestampFrom, addedAtMs } = entry;
    const bytes = new TextEncoder().encode(toJson(observation)).length;
    const facts = { ordinal, observation, timestampFrom, isFixed: true, bytes };
    const item = { ...facts, addedAtMs, addedAtSteadyMs: now.steadyMs };
    return this.#timed(instanceId, item, this.#next.of(instanceId));
  }
}

function entryOf(instanceId: string, { observation, timestampFrom, addedAtMs }: Item): SpoolEntry {
  return { instanceId, observation, timestampFrom, addedAtMs };
}

function leftOf({
  instanceId,
  observation,
  timestampFrom,
  addedAtMs,
}: SpoolEntry): UnacknowledgedBatch {
  const batch = { instanceId, idempotencyKey: uuid7(), observations: [observation] };
  const facts = { mayHaveHappened: true, sentAtMs: addedAtMs };
  return { ...batch, ...facts, timestampsFrom: [timestampFrom] };
}

function fail(error: unknown): never {
  if (error instanceof SpoolError) throw error;
  const text = error instanceof Error ? error.message : String(error);
  throw new SpoolError(`the spool cannot be used: ${text}`, { cause: error });
}
