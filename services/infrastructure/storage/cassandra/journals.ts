/*
 * Journals in Cassandra. The store refuses no append: the writer (`shards/journal-writer`) reads the
 * seal after each append and acknowledges nothing if its journal is sealed (fencing).
 */
import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import type { CassandraSession, Statement } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import {
  type Append,
  type HeadRead,
  type JournalEntry,
  type JournalSlot,
  type JournalStore,
  journalStoreOf,
  NEWEST_SLOTS,
  type NewestSlot,
  type NewestSlots,
} from '#storage/ports/journal';

/**
 * Maximum number of slots in a page. Callers choose the number by the size of the slots and never
 * request more in one read.
 */
const PAGE_SLOTS = 512;

/** Timestamp of a deletion that covers every possible slot, because slots are safe integers. */
const ABOVE_EVERY_SLOT = BigInt(Number.MAX_SAFE_INTEGER);

const BEGIN = 'INSERT INTO journals (incarnation, address) VALUES (?, ?) IF NOT EXISTS';

// The slot determines the timestamp, so a late or repeated write is the same write.
const APPEND = `
  INSERT INTO journal (incarnation, slot, low_water_mark, records) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ?`;

// A single-partition mutation: the slot and the deletion are applied together or not at all.
const APPEND_AND_TRUNCATE = `
  BEGIN UNLOGGED BATCH
    INSERT INTO journal (incarnation, slot, low_water_mark, records) VALUES (?, ?, ?, ?)
    USING TIMESTAMP ?;
    DELETE FROM journal USING TIMESTAMP ? WHERE incarnation = ? AND slot < ?;
  APPLY BATCH`;

// Every sealer writes the same cell, and nothing ever deletes the cell. Even a writer that was
// suspended for a year therefore finds its journal sealed.
const PUT_SEAL = 'INSERT INTO seals (incarnation, is_sealed) VALUES (?, true) USING TIMESTAMP 1';

const DECIDE_END = `
  UPDATE journals SET end_slot = ? WHERE incarnation = ? IF end_slot = null AND address != null`;

const DELETE_SLOTS = 'DELETE FROM journal USING TIMESTAMP ? WHERE incarnation = ?';

const DELETE_ENTRY = 'DELETE FROM journals WHERE incarnation = ? IF end_slot >= 0';

/**
 * Journals in Cassandra, in three tables. `journals` has only conditional writes. `seals` is
 * written once per journal. `journal` has plain writes, whose timestamps follow from the slots. The
 * caller closes `session`. Source: decision 191.
 */
export function cassandraJournalStore(
  session: CassandraSession,
  pageSlots = PAGE_SLOTS,
): JournalStore {
  return journalStoreOf({
    ...entrySteps(session),
    append: (append) => appendSlot(session, append),
    readNewestSlot: (incarnation) => readNewestSlot(session, incarnation),
    readNewestSlots: (incarnation) => readNewestSlots(session, incarnation),
    readSlots: (incarnation, from, to) => readSlots(session, incarnation, { from, to, pageSlots }),
    async deleteSlots(incarnation) {
      const params = [ABOVE_EVERY_SLOT, incarnation];
      await session.execute(DELETE_SLOTS, params, { kind: 'write', operation: 'journal_empty' });
    },
    hasSeal: (incarnation) => hasSeal(session, incarnation),
    async putSeal(incarnation) {
      await session.execute(PUT_SEAL, [incarnation], { kind: 'write', operation: 'journal_seal' });
    },
  });
}

/** Steps on the table `journals`: conditional writes, and the reads that must see their effects. */
function entrySteps(session: CassandraSession) {
  const change = (operation: string, query: string, params: readonly unknown[]) =>
    isApplied(session, operation, query, params);
  return {
    begin: (incarnation: string, address: string) =>
      change('journal_begin', BEGIN, [incarnation, address]),
    readEntry: (incarnation: string, read: HeadRead) => readEntry(session, incarnation, read),
    decideEnd: (incarnation: string, end: number) =>
      change('journal_end', DECIDE_END, [BigInt(end), incarnation]),
    async deleteEntry(incarnation: string) {
      await change('journal_empty', DELETE_ENTRY, [incarnation]);
    },
    list: () => list(session),
  };
}

async function isApplied(
  session: CassandraSession,
  operation: string,
  query: string,
  params: readonly unknown[],
): Promise<boolean> {
  const options = { kind: 'conditional', operation } as const;
  return conditionalAnswerOf(await session.execute(query, params, options)).isApplied;
}

async function appendSlot(session: CassandraSession, append: Append): Promise<void> {
  const { query, params } = appendStatement(append);
  await session.execute(query, params, { kind: 'write', operation: 'journal_append' });
}

function appendStatement(append: Append): Statement {
  const { incarnation, slot, records, lowWaterMark, deleteBelow } = append;
  const at = BigInt(slot);
  // A view, not a copy: the driver takes Buffers only.
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  const insert = [incarnation, at, BigInt(lowWaterMark), bytes, at + 1n];
  if (deleteBelow === undefined) return { query: APPEND, params: insert };
  const params = [...insert, at + 1n, incarnation, BigInt(deleteBelow)];
  return { query: APPEND_AND_TRUNCATE, params };
}

/*
 * Reads of journals. Read repair gives a replica only the columns and the range of the read
 * (decision 192).
 */

/**
 * Timeout for a page of slots or journals, in milliseconds. A page usually has about 1 MiB and
 * rarely many MiB.
 */
const PAGE_MS_MAX = 5_000;

/** Maximum number of journals in a page (100 bytes each). */
const PAGE_JOURNALS = 1_000;

const READ_SEAL = 'SELECT is_sealed FROM seals WHERE incarnation = ?';

const READ_ENTRY = 'SELECT address, end_slot FROM journals WHERE incarnation = ?';

// Includes the bytes, because read repair gives a replica only the columns that were read.
const READ_NEWEST_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal WHERE incarnation = ? AND slot >= ?`;

// One row: a higher limit would make the read of a nearly empty journal scan all deleted slots.
const READ_NEWEST_SLOT = 'SELECT slot, low_water_mark FROM journal WHERE incarnation = ? LIMIT 1';

const READ_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal
  WHERE incarnation = ? AND slot >= ? AND slot < ? LIMIT ?`;

const LIST = `
  SELECT incarnation, end_slot, WRITETIME(end_slot) AS end_decided_us FROM journals`;

/** Entry of a journal; undefined if the journal does not exist. */
async function readEntry(
  session: CassandraSession,
  incarnation: string,
  read: HeadRead,
): Promise<JournalEntry | undefined> {
  const { rows } = await session.execute(READ_ENTRY, [incarnation], {
    kind: read === 'serial' ? 'serial_read' : 'read',
    operation: 'journal_read_entry',
  });
  const address: string | null | undefined = rows[0]?.['address'];
  if (address === null || address === undefined) return undefined;
  const end: bigint | null = rows[0]?.['end_slot'];
  return { address, end: end === null ? undefined : Number(end) };
}

/** Whether the journal has a seal. */
async function hasSeal(session: CassandraSession, incarnation: string): Promise<boolean> {
  const { rows } = await session.execute(READ_SEAL, [incarnation], {
    kind: 'read',
    operation: 'journal_read_seal',
  });
  return rows.length > 0;
}

/** Newest slot of a journal; undefined if there is none. */
async function readNewestSlot(
  session: CassandraSession,
  incarnation: string,
): Promise<NewestSlot | undefined> {
  const { rows } = await session.execute(READ_NEWEST_SLOT, [incarnation], {
    kind: 'read',
    operation: 'journal_read_newest',
  });
  const [row] = rows;
  return row && newestSlotOf(row);
}

function newestSlotOf(row: types.Row): NewestSlot {
  return { slot: Number(row['slot']), lowWaterMark: lowWaterMarkOf(row) };
}

/**
 * Newest slots of a journal in one read, starting `NEWEST_SLOTS` below the newest. Includes slots
 * written in the meantime.
 */
async function readNewestSlots(
  session: CassandraSession,
  incarnation: string,
): Promise<NewestSlots | undefined> {
  const newest = await readNewestSlot(session, incarnation);
  if (newest === undefined) return undefined;
  const from = BigInt(newest.slot - NEWEST_SLOTS + 1);
  const { rows } = await session.execute(READ_NEWEST_SLOTS, [incarnation, from], {
    kind: 'read',
    operation: 'journal_read_newest_slots',
  });
  const [row] = rows;
  assert(
    row !== undefined,
    `slot ${newest.slot} of ${incarnation} was found before and is missing now`,
  );
  const whole = rows.filter(hasRecords).map((present) => Number(present['slot']));
  return { ...newestSlotOf(row), whole };
}

/**
 * Whether a row has its bytes. For an unacknowledged slot, read repair may create a row without
 * bytes.
 */
function hasRecords(row: types.Row): boolean {
  return row['records'] !== null;
}

/** Low-water mark of a row. Every read also repairs the mark, so every row has a mark. */
function lowWaterMarkOf(row: types.Row): number {
  const lowWaterMark: bigint | null = row['low_water_mark'];
  assert(lowWaterMark !== null, `slot ${row['slot']} of a journal names no low-water mark`);
  return Number(lowWaterMark);
}

/**
 * Reads slots from the newest down, in the stored order and in pages of `pageSlots`. Returns the
 * slots in ascending order.
 */
async function readSlots(
  session: CassandraSession,
  incarnation: string,
  { from, to, pageSlots }: { from: number; to: number; pageSlots: number },
): Promise<JournalSlot[]> {
  const slots: JournalSlot[] = [];
  for (let end = to; from < end; ) {
    const result = await session.execute(
      READ_SLOTS,
      [incarnation, BigInt(from), BigInt(end), pageSlots],
      { kind: 'read', operation: 'journal_read_slots', timeoutMs: PAGE_MS_MAX },
    );
    for (const row of result.rows.filter(hasRecords)) {
      const slot: bigint = row['slot'];
      const records: Buffer = row['records'];
      // A copy, because a view would keep the driver's whole page in memory.
      slots.push({ slot: Number(slot), records: new Uint8Array(records) });
    }
    if (result.rows.length < pageSlots) break;
    end = Number(result.rows.at(-1)?.['slot'] ?? from);
  }
  return slots.reverse();
}

/** All journals, with the times at which their ends were decided. */
async function list(session: CassandraSession) {
  const journals: { incarnation: string; sealedAtMs: number | undefined }[] = [];
  const pages = session.pages(LIST, [], {
    kind: 'read',
    operation: 'journal_list',
    timeoutMs: PAGE_MS_MAX,
    pageRows: PAGE_JOURNALS,
  });
  for await (const page of pages) {
    for (const row of page) {
      const incarnation: string = row['incarnation'];
      const decidedUs: bigint | null = row['end_decided_us'];
      const sealedAtMs = decidedUs === null ? undefined : Number(decidedUs / 1_000n);
      journals.push({ incarnation, sealedAtMs });
    }
  }
  return journals;
}
