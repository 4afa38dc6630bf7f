import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import type { CassandraSession } from '#storage/cassandra/session';
import type { HeadRead } from '#storage/journal-steps';
import type { JournalSlot } from '#storage/journal-store';
import {
  type JournalEntry,
  NEWEST_SLOTS,
  type NewestSlot,
  type NewestSlots,
} from '#storage/seal-journal';

/*
 * What is read of journals. Read repair gives a replica only the columns and the range that a read
 * asks for (decision 192).
 */

/** How long a page of slots or of journals may take. Milliseconds. Chosen: a page is a MiB, rarely many. */
const PAGE_MS_MAX = 5_000;

/** Journals of one page. Chosen: 100 bytes each. */
const PAGE_JOURNALS = 1_000;

const READ_SEAL = 'SELECT is_sealed FROM seals WHERE incarnation = ?';

const READ_ENTRY = 'SELECT address, end_slot FROM journals WHERE incarnation = ?';

// With the bytes: read repair gives a replica only the columns that were read.
const READ_NEWEST_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal WHERE incarnation = ? AND slot >= ?`;

// One row: with more, a journal that is nearly empty is searched for them among all deleted slots.
const READ_NEWEST_SLOT = 'SELECT slot, low_water_mark FROM journal WHERE incarnation = ? LIMIT 1';

const READ_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal
  WHERE incarnation = ? AND slot >= ? AND slot < ? LIMIT ?`;

const LIST = `
  SELECT incarnation, end_slot, WRITETIME(end_slot) AS end_decided_us FROM journals`;

/** The entry of a journal, if it was begun. */
export async function readEntry(
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

/** Whether there is a seal. */
export async function hasSeal(session: CassandraSession, incarnation: string): Promise<boolean> {
  const { rows } = await session.execute(READ_SEAL, [incarnation], {
    kind: 'read',
    operation: 'journal_read_seal',
  });
  return rows.length > 0;
}

/** The newest slot. */
export async function readNewestSlot(
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

/** The newest slots, from one below the newest on, whatever has become the newest by then: one read. */
export async function readNewestSlots(
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
  assert(row !== undefined, `slot ${newest.slot} of ${incarnation} was there and is not`);
  const whole = rows.filter(hasRecords).map((present) => Number(present['slot']));
  return { ...newestSlotOf(row), whole };
}

/** A row without its bytes is one that read repair has made of a slot that was never acknowledged. */
function hasRecords(row: types.Row): boolean {
  return row['records'] !== null;
}

/** Every read repairs the mark along, so none is missing. */
function lowWaterMarkOf(row: types.Row): number {
  const lowWaterMark: bigint | null = row['low_water_mark'];
  assert(lowWaterMark !== null, `slot ${row['slot']} of a journal names no low-water mark`);
  return Number(lowWaterMark);
}

/** Reads from the newest slot down, as they are stored, in pages of `pageSlots`. */
export async function readSlots(
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
      // A copy: the driver's buffer would hold on to the whole page.
      slots.push({ slot: Number(slot), records: new Uint8Array(records) });
    }
    if (result.rows.length < pageSlots) break;
    end = Number(result.rows.at(-1)?.['slot'] ?? from);
  }
  return slots.reverse();
}

/** Every journal, and since when its end is decided. */
export async function list(session: CassandraSession) {
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
