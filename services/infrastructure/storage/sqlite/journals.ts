import type { Clock } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import {
  type Append,
  type JournalEntry,
  type JournalSlot,
  type JournalStore,
  journalStoreOf,
  NEWEST_SLOTS,
} from '#storage/ports/journal';
import type { Row, SqliteDatabase, Statement } from '#storage/sqlite/database';
import { bytesIn, CheckedTable, textIn, wholeIn } from '#storage/sqlite/tables';

const JOURNALS = new CheckedTable({
  name: 'journals',
  keys: ['incarnation'],
  others: ['address', 'end_slot', 'sealed_at_ms'],
  part: null,
});
const SEALS = new CheckedTable({ name: 'seals', keys: ['incarnation'], others: ['is_emptied'] });
const SLOTS = new CheckedTable({
  name: 'journal',
  keys: ['incarnation', 'slot'],
  others: ['low_water_mark', 'records'],
});

const ENTRIES = JOURNALS.select('');
const SEAL = SEALS.select('WHERE incarnation = ?');
const NEWEST = SLOTS.select(`WHERE incarnation = ? ORDER BY slot DESC LIMIT ${NEWEST_SLOTS}`);
const NEWEST_ONE = SLOTS.select('WHERE incarnation = ? ORDER BY slot DESC LIMIT 1');
const PART = SLOTS.select('WHERE incarnation = ? AND slot >= ? AND slot < ? ORDER BY slot');

/**
 * Condition of an append: the slot is not below a newer low-water mark, and the journal has no
 * seal.
 */
const IS_WANTED = `
  NOT EXISTS (SELECT 1 FROM journal WHERE incarnation = ? AND slot > ? AND low_water_mark > ?)
  AND NOT EXISTS (SELECT 1 FROM seals WHERE incarnation = ?)`;

/** Slot counts of a journal: in the table, and in the index that reads use. */
const COUNTS = `SELECT
  (SELECT count(*) FROM journal NOT INDEXED WHERE incarnation = ?1),
  (SELECT count(*) FROM journal INDEXED BY sqlite_autoindex_journal_1 WHERE incarnation = ?1)`;

/**
 * Journals in an SQLite file. An append is answered when its slot is on disk; waiting appends share
 * an `fsync` (group commit). `isHeld`: no other process serves the file. After its first read,
 * `hasSeal` then answers from memory. Source: decision 191. The caller closes `database`.
 */
export function sqliteJournalStore(
  database: SqliteDatabase,
  clock: Pick<Clock, 'wallMs'>,
  isHeld = false,
): JournalStore {
  /** Journals whose seal was read. */
  const looked = new Set<string>();
  /** Journals that are sealed. */
  const sealed = new Set<string>();
  const change = (operation: string, ...statements: Statement[]) =>
    database.write({ operation, statements });
  const entryOf = (incarnation: string) => entryIn(database, incarnation);

  return journalStoreOf({
    begin: (incarnation, address) =>
      change('journal_begin', JOURNALS.insert([incarnation, address, null, null])),
    async append(append) {
      if (await isAppended(database, append)) return;
      // The journal may be sealed, so the next `hasSeal` reads the file.
      looked.delete(append.incarnation);
    },
    readEntry: entryOf,
    async hasSeal(incarnation) {
      if (isHeld && looked.has(incarnation)) return sealed.has(incarnation);
      const query = { operation: 'journal_look', sql: SEAL, values: [incarnation] };
      const rows = await database.read(query);
      if (SEALS.rowsOf(rows).length > 0) sealed.add(incarnation);
      looked.add(incarnation);
      // A `putSeal` during this read is included, even if the read has not found the seal.
      return sealed.has(incarnation);
    },
    async putSeal(incarnation) {
      sealed.add(incarnation);
      // If the journal was emptied, the existing seal stays: its `is_emptied` is 1.
      await change('journal_seal', SEALS.put([incarnation, 0], { unlessHigher: 'is_emptied' }));
    },
    async decideEnd(incarnation, end) {
      const entry = await entryOf(incarnation);
      if (entry === undefined || entry.end !== undefined) return false;
      const row = [incarnation, entry.address, end, clock.wallMs()];
      return await change('journal_end', JOURNALS.replace(row, { end_slot: null }));
    },
    async readNewestSlot(incarnation) {
      const [slot] = await slotsIn(database, NEWEST_ONE, [incarnation]);
      return slot && { slot: wholeIn(slot, 1), lowWaterMark: wholeIn(slot, 2) };
    },
    async readNewestSlots(incarnation) {
      await assertAllFound(database, incarnation);
      const slots = await slotsIn(database, NEWEST, [incarnation]);
      const [newest] = slots;
      const whole = slots.map((row) => wholeIn(row, 1));
      return newest && { slot: wholeIn(newest, 1), lowWaterMark: wholeIn(newest, 2), whole };
    },
    async readSlots(incarnation, from, to) {
      const slots = await slotsIn(database, PART, [incarnation, from, to]);
      return slots.map(
        (row): JournalSlot => ({ slot: wholeIn(row, 1), records: new Uint8Array(bytesIn(row, 3)) }),
      );
    },
    async list() {
      const rows = await database.read({ operation: 'journal_list', sql: ENTRIES, values: [] });
      return JOURNALS.rowsOf(rows).map((row) => ({
        incarnation: textIn(row, 0),
        sealedAtMs: row[3] === null ? undefined : wholeIn(row, 3),
      }));
    },
    async deleteSlots(incarnation) {
      const slots = SLOTS.delete('incarnation = ?', [incarnation]);
      await change('journal_empty', slots, SEALS.put([incarnation, 1]));
    },
    async deleteEntry(incarnation) {
      const condition = 'incarnation = ? AND end_slot IS NOT NULL';
      await change('journal_empty', JOURNALS.delete(condition, [incarnation]));
    },
  });
}

async function entryIn(
  database: SqliteDatabase,
  incarnation: string,
): Promise<JournalEntry | undefined> {
  const row = await JOURNALS.find(database, 'journal_head', [incarnation]);
  if (row === undefined) return undefined;
  return { address: textIn(row, 1), end: row[2] === null ? undefined : wholeIn(row, 2) };
}

async function slotsIn(
  database: SqliteDatabase,
  sql: string,
  values: Row,
): Promise<readonly Row[]> {
  return SLOTS.rowsOf(await database.read({ operation: 'journal_read', sql, values }));
}

/**
 * Throws `CorruptState` if the index lacks slots of a journal. Otherwise a wrong end would be
 * decided.
 */
async function assertAllFound(database: SqliteDatabase, incarnation: string): Promise<void> {
  const query = { operation: 'journal_check', sql: COUNTS, values: [incarnation] };
  const [[inTable, inIndex] = []] = await database.read(query);
  if (inTable === inIndex) return;
  const counts = `${inTable} in the table, ${inIndex} in the index`;
  throw new CorruptState(`slots of the journal of ${incarnation} are missing: ${counts}`);
}

/** Whether a slot was written. */
async function isAppended(database: SqliteDatabase, append: Append): Promise<boolean> {
  const { incarnation, slot, records, lowWaterMark, deleteBelow } = append;
  const values = [incarnation, slot, slot, incarnation];
  const where = { condition: IS_WANTED, values };
  const put = SLOTS.put([incarnation, slot, lowWaterMark, records], { where });
  const statements: Statement[] = [{ ...put, changes: 1 }];
  if (deleteBelow !== undefined) {
    statements.push(SLOTS.delete('incarnation = ? AND slot < ?', [incarnation, deleteBelow]));
  }
  return await database.write({ operation: 'journal_append', lane: 'journal', statements });
}
