import { randomBytes } from 'node:crypto';
import { flushTables, keepInMemory } from '#bench/flushed-tables';
import { spreadOf } from '#bench/statistics';
import { cassandraJournalStore } from '#storage/cassandra/journals';
import type { JournalStore } from '#storage/ports/journal';
import { openMigratedKeyspace } from '#test/storage/migrated-keyspace';

/** A group as it gathers while the append before it is under way (architecture 3.1). Bytes. */
const GROUP_BYTES = 40 * 120;
/** How often the low-water mark moves (architecture 3.1), in slots. */
const TRUNCATION_SLOTS_MIN = 1_000;
/** The newest slots, which a journal keeps because their records are not checkpointed yet. */
const KEPT_SLOTS = 1_000;
const ROUNDS = 20;
const APPENDS_PER_ROUND = 100;
/** Appends to the fresh journal that are not counted, and how many bring server and driver to speed. */
const WARM_UP_APPENDS = 2_000;

/** The most that an append to an old journal may take, by one to a fresh one. Source: the project's targets. */
export const AGED_RATIO_MAX = 1.5;

/** What an append costs on a journal that has just begun and on one that has seen much. */
export type JournalAppends = {
  readonly droppedSlots: number;
  readonly freshP50Ms: number;
  readonly agedP50Ms: number;
  /** How long it took to fill the old one. */
  readonly filledS: number;
};

/**
 * Appends to a fresh journal and to one that has dropped `slots` slots and been flushed to disk, in
 * turns, so that whatever else the machine does meets both. Makes a keyspace of its own on the
 * server and drops it at the end. Takes about 2 ms a slot.
 */
export async function measureJournal(server: string, slots: number): Promise<JournalAppends> {
  await using keyspace = await openMigratedKeyspace(server);
  const { session } = keyspace;
  const store = cassandraJournalStore(session);
  const aged = await new Writer(store).begin();
  const startedMs = performance.now();
  await aged.append(slots + KEPT_SLOTS);
  const filledS = (performance.now() - startedMs) / 1_000;
  await flushTables(session, ['journal']);
  await keepInMemory(session, ['journal']);
  const fresh = await new Writer(store).begin();
  await (await new Writer(store).begin()).append(WARM_UP_APPENDS);
  const freshMs: number[] = [];
  const agedMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    freshMs.push(...(await fresh.append(APPENDS_PER_ROUND)));
    agedMs.push(...(await aged.append(APPENDS_PER_ROUND)));
  }
  const [freshP50Ms, agedP50Ms] = [spreadOf(freshMs).median, spreadOf(agedMs).median];
  return { droppedSlots: slots, freshP50Ms, agedP50Ms, filledS };
}

class Writer {
  readonly #store: JournalStore;
  readonly #incarnation = `bench-${randomBytes(8).toString('hex')}`;
  readonly #records = randomBytes(GROUP_BYTES);
  #next = 0;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  async begin(): Promise<this> {
    await this.#store.begin(this.#incarnation, '127.0.0.1:0');
    return this;
  }

  /** Appends groups one after the other, and drops what is older than the kept slots; ms of each. */
  async append(count: number): Promise<number[]> {
    const tookMs: number[] = [];
    for (const end = this.#next + count; this.#next < end; this.#next += 1) {
      const slot = this.#next;
      const isTruncating = slot % TRUNCATION_SLOTS_MIN === 0 && slot >= KEPT_SLOTS;
      const lowWaterMark = Math.max(0, slot - KEPT_SLOTS);
      const deleteBelow = isTruncating ? lowWaterMark : undefined;
      const incarnation = this.#incarnation;
      const startedMs = performance.now();
      await this.#store.append({
        ...{ incarnation, slot, records: this.#records, lowWaterMark, deleteBelow },
      });
      if (await this.#store.isSealed(incarnation)) throw new Error('the journal was sealed');
      tookMs.push(performance.now() - startedMs);
    }
    return tookMs;
  }
}
