/**
 * What one conditional append costs on a journal that has just begun, and on one that has dropped
 * many slots and been flushed to disk. The two are measured in turns, so that whatever else the
 * machine does meets both. Source: architecture 3.1.
 *
 *   node bench/journal.ts --server 127.0.0.1:9042 [--slots 200000]
 *
 * Makes a keyspace of its own on that server and drops it at the end. Takes about 2 ms a slot.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { spreadOf } from '#bench/statistics';
import { cassandraJournalStore } from '#storage/cassandra/cassandra-journal-store';
import type { JournalStore } from '#storage/journal-store';
import { openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { changeSchema } from '#test/storage/scratch-keyspace';

/** A group as it gathers while the append before it is under way (architecture 3.1). Bytes. */
const GROUP_BYTES = 40 * 120;
/** How often `low` moves (architecture 3.1), in slots. */
const LOW_SLOTS = 1_000;
/** The newest slots, which a journal keeps because their records are not checkpointed yet. */
const KEPT_SLOTS = 1_000;
const ROUNDS = 20;
const APPENDS_PER_ROUND = 100;
/** Appends to the fresh journal that are not counted, and how many bring server and driver to speed. */
const WARM_UP_APPENDS = 2_000;
const RATIO_MAX = 1.5;
const FLUSH_PERIOD_MS = 1_000;

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
      const isLowMoving = slot % LOW_SLOTS === 0 && slot >= KEPT_SLOTS;
      const low = isLowMoving ? slot - KEPT_SLOTS : undefined;
      const append = { incarnation: this.#incarnation, slot, records: this.#records, low };
      const startedMs = performance.now();
      const { isApplied } = await this.#store.append(append);
      tookMs.push(performance.now() - startedMs);
      if (!isApplied) throw new Error(`slot ${slot} was refused to its only writer`);
    }
    return tookMs;
  }
}

const { slots, server } = readOptions();
await using keyspace = await openMigratedKeyspace(server);
const { session } = keyspace;
const store = cassandraJournalStore(session);

const old = await new Writer(store).begin();
const filledMs = performance.now();
await old.append(slots + KEPT_SLOTS);
const filledS = (performance.now() - filledMs) / 1_000;
await flush();

const fresh = await new Writer(store).begin();
await (await new Writer(store).begin()).append(WARM_UP_APPENDS);
const freshMs: number[] = [];
const oldMs: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  freshMs.push(...(await fresh.append(APPENDS_PER_ROUND)));
  oldMs.push(...(await old.append(APPENDS_PER_ROUND)));
}
const [freshP50, oldP50] = [spreadOf(freshMs).median, spreadOf(oldMs).median];
const ratio = oldP50 / freshP50;
console.log(
  `appended ${slots + KEPT_SLOTS} groups of ${GROUP_BYTES} bytes in ${filledS.toFixed(0)} s`,
);
console.log(`append p50, fresh journal:             ${freshP50.toFixed(2)} ms`);
console.log(`append p50, ${slots} slots dropped: ${oldP50.toFixed(2)} ms`);
console.log(`ratio ${ratio.toFixed(2)} (at most ${RATIO_MAX})`);
process.exitCode = ratio <= RATIO_MAX ? 0 : 1;

/** Writes what is in memory to disk, without the server's own tools: by the table's period. */
async function flush(): Promise<void> {
  await changeSchema(
    session,
    `ALTER TABLE journal WITH memtable_flush_period_in_ms = ${FLUSH_PERIOD_MS}`,
  );
  await new Promise((resolve) => setTimeout(resolve, 3 * FLUSH_PERIOD_MS));
  await changeSchema(session, 'ALTER TABLE journal WITH memtable_flush_period_in_ms = 0');
}

function readOptions() {
  const { values } = parseArgs({
    options: { slots: { type: 'string', default: '200000' }, server: { type: 'string' } },
  });
  const count = Number(values.slots);
  const address = values.server ?? process.env['TEST_CASSANDRA'];
  if (!Number.isSafeInteger(count) || count < 1 || address === undefined) {
    throw new Error('usage: node bench/journal.ts --server host:port [--slots n]');
  }
  return { slots: count, server: address };
}
