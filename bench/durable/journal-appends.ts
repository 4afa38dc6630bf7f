import { randomBytes } from 'node:crypto';
import { flushTables, keepInMemory } from '#bench/durable/flushed-tables';
import { spreadOf } from '#bench/measures/statistics';
import { cassandraJournalStore } from '#storage/cassandra/journals';
import type { JournalStore } from '#storage/ports/journal';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';

/**
 * Bytes of a typical group: 40 records of 120 bytes, which gather while the previous append is in
 * flight (architecture 3.1).
 */
const GROUP_BYTES = 40 * 120;
/** Number of slots between truncations (architecture 3.1). */
const TRUNCATION_SLOTS_MIN = 1_000;
/** Number of newest slots that stay, because their records have no checkpoint yet. */
const KEPT_SLOTS = 1_000;
const ROUNDS = 20;
const APPENDS_PER_ROUND = 100;
/** Number of unmeasured appends that warm up server and driver. */
const WARM_UP_APPENDS = 2_000;

/**
 * Maximum time of an append to an old journal, relative to a fresh journal. Source: the project's
 * targets.
 */
export const AGED_RATIO_MAX = 1.5;

/** Latency of appends to a fresh and to an aged journal. */
type JournalAppends = {
  readonly freshP50Ms: number;
  readonly agedP50Ms: number;
};

/**
 * Measures appends to a fresh and to an aged journal in turns, so that other work on the machine
 * slows both. The aged journal has truncated `slots` slots and is flushed to disk. Creates a
 * keyspace on the server and drops the keyspace at the end. Takes about 2 ms per slot.
 */
export async function measureJournal(server: string, slots: number): Promise<JournalAppends> {
  await using keyspace = await openMigratedKeyspace(server);
  const { session } = keyspace;
  const store = cassandraJournalStore(session);
  const aged = await new Writer(store).begin();
  await aged.append(slots + KEPT_SLOTS);
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
  return { freshP50Ms, agedP50Ms };
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

  /**
   * Appends groups sequentially and truncates all but the newest `KEPT_SLOTS` slots. Returns the
   * time of each append in ms.
   */
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
