import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import { Fault } from '#fault/fault';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, Statement } from '#storage/cassandra/session';
import type { Append, JournalHead, JournalSlot, JournalStore } from '#storage/journal-store';
import {
  headFrom,
  type JournalEntry,
  NEWEST_SLOTS,
  type NewestSlot,
  type NewestSlots,
  type SealSteps,
  sealJournal,
} from '#storage/seal-journal';

/** How long an append, a seal or a look at a head may take. Milliseconds. Chosen: a group's p99 is 50. */
const STATEMENT_MS_MAX = 2_000;

/** How long a page of slots or of journals may take. Milliseconds. Chosen: a page is a MiB, rarely many. */
const PAGE_MS_MAX = 5_000;

/** Slots of one page: as many as a caller asks for at once, which knows how large they are. */
const PAGE_SLOTS = 512;

/** Journals of one page. Chosen: 100 bytes each. */
const PAGE_JOURNALS = 1_000;

/**
 * Bytes of one group that are sent at all. A server refuses what is over half a commit-log segment
 * (8 MiB of 16), but answers as if the outcome were open. Eight times the largest group.
 */
const GROUP_BYTES_MAX = 4 * 1_024 * 1_024;

/** A deletion at this timestamp covers every slot there ever may be: slots are safe integers. */
const ABOVE_EVERY_SLOT = BigInt(Number.MAX_SAFE_INTEGER);

const BEGIN = 'INSERT INTO journals (incarnation, address) VALUES (?, ?) IF NOT EXISTS';

// The timestamp is the slot's own: a write that comes late or twice is the same write.
const APPEND = `
  INSERT INTO journal (incarnation, slot, low_water_mark, records) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ?`;

// One mutation of one partition: the slot and the deletion are there together or not at all.
const APPEND_AND_TRUNCATE = `
  BEGIN UNLOGGED BATCH
    INSERT INTO journal (incarnation, slot, low_water_mark, records) VALUES (?, ?, ?, ?)
    USING TIMESTAMP ?;
    DELETE FROM journal USING TIMESTAMP ? WHERE incarnation = ? AND slot < ?;
  APPLY BATCH`;

// Constant: every sealer writes the same cell, and nothing ever deletes it, so that a writer that
// was suspended for a year finds its journal sealed.
const PUT_SEAL = 'INSERT INTO seals (incarnation, is_sealed) VALUES (?, true) USING TIMESTAMP 1';

const READ_SEAL = 'SELECT is_sealed FROM seals WHERE incarnation = ?';

const READ_ENTRY = 'SELECT address, end_slot FROM journals WHERE incarnation = ?';

// One row: with more, a journal that is nearly empty is searched for them among all deleted slots.
const READ_NEWEST = 'SELECT slot, low_water_mark FROM journal WHERE incarnation = ? LIMIT 1';

// With the bytes: read repair gives a replica only the columns that were read.
const READ_NEWEST_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal WHERE incarnation = ? AND slot >= ?`;

const DECIDE_END = `
  UPDATE journals SET end_slot = ? WHERE incarnation = ? IF end_slot = null AND address != null`;

const DELETE_SLOTS = 'DELETE FROM journal USING TIMESTAMP ? WHERE incarnation = ?';

const DELETE_ENTRY = 'DELETE FROM journals WHERE incarnation = ? IF end_slot >= 0';

const READ_SLOTS = `
  SELECT slot, low_water_mark, records FROM journal
  WHERE incarnation = ? AND slot >= ? AND slot < ? LIMIT ?`;

const LIST = `
  SELECT incarnation, end_slot, WRITETIME(end_slot) AS end_decided_us FROM journals`;

/**
 * Journals on Cassandra, in three tables with a way of writing each: `journals` only conditionally,
 * `seals` once, `journal` plainly with the slot as its timestamp. `session` stays the caller's.
 * Source: decision 191.
 */
export function cassandraJournalStore(
  session: CassandraSession,
  pageSlots = PAGE_SLOTS,
): JournalStore {
  const steps = stepsOf(session);
  return {
    async begin(incarnation, address) {
      const begun = await conditional(session, 'journal_begin', BEGIN, [incarnation, address]);
      if (begun.isApplied) return begun;
      return { isApplied: false, head: await headAfterRefusal(steps, incarnation) };
    },
    async append(append) {
      refuseTooLarge(append);
      const { query, params } = appendStatement(append);
      await session.execute(query, params, {
        kind: 'write',
        operation: 'journal_append',
        timeoutMs: STATEMENT_MS_MAX,
      });
    },
    isSealed: (incarnation) => isSealed(session, incarnation),
    seal: (incarnation) => sealJournal(steps, incarnation),
    readHead: (incarnation, read) => readHead(session, incarnation, read),
    readSlots: (incarnation, from, to) => readSlots(session, incarnation, { from, to, pageSlots }),
    list: () => list(session),
    async empty(incarnation) {
      const entry = await steps.readEntry(incarnation);
      if (entry?.end === undefined) return;
      // The slots first: without its entry nothing would ever look for them again.
      await session.execute(DELETE_SLOTS, [ABOVE_EVERY_SLOT, incarnation], {
        kind: 'write',
        operation: 'journal_empty',
        timeoutMs: STATEMENT_MS_MAX,
      });
      await conditional(session, 'journal_empty', DELETE_ENTRY, [incarnation]);
    },
  };
}

function stepsOf(session: CassandraSession): SealSteps {
  return {
    readEntry: (incarnation) => readEntry(session, incarnation, 'serial_read'),
    async putSeal(incarnation) {
      await session.execute(PUT_SEAL, [incarnation], {
        kind: 'write',
        operation: 'journal_seal',
        timeoutMs: STATEMENT_MS_MAX,
      });
    },
    readNewest: (incarnation) => readNewestSlots(session, incarnation),
    async decideEnd(incarnation, end) {
      const params = [BigInt(end), incarnation];
      return (await conditional(session, 'journal_end', DECIDE_END, params)).isApplied;
    },
    readHead: (incarnation, read) => readHead(session, incarnation, read),
  };
}

async function conditional(
  session: CassandraSession,
  operation: string,
  query: string,
  params: readonly unknown[],
) {
  const options = { kind: 'conditional', operation, timeoutMs: STATEMENT_MS_MAX } as const;
  return conditionalAnswerOf(await session.execute(query, params, options));
}

/** The three parts of a head are read side by side: each alone is true, and no user needs more. */
async function readHead(
  session: CassandraSession,
  incarnation: string,
  read: 'serial' | 'quorum',
): Promise<JournalHead | undefined> {
  const kind = read === 'serial' ? 'serial_read' : 'read';
  const [entry, hasSeal, newest] = await Promise.all([
    readEntry(session, incarnation, kind),
    isSealed(session, incarnation),
    readNewest(session, incarnation),
  ]);
  return entry && headFrom(entry, hasSeal, newest);
}

async function readEntry(
  session: CassandraSession,
  incarnation: string,
  kind: 'serial_read' | 'read',
): Promise<JournalEntry | undefined> {
  const { rows } = await session.execute(READ_ENTRY, [incarnation], {
    kind,
    operation: 'journal_read_entry',
    timeoutMs: STATEMENT_MS_MAX,
  });
  const address: string | null | undefined = rows[0]?.['address'];
  if (address === null || address === undefined) return undefined;
  const end: bigint | null = rows[0]?.['end_slot'];
  return { address, end: end === null ? undefined : Number(end) };
}

async function isSealed(session: CassandraSession, incarnation: string): Promise<boolean> {
  const { rows } = await session.execute(READ_SEAL, [incarnation], {
    kind: 'read',
    operation: 'journal_read_seal',
    timeoutMs: STATEMENT_MS_MAX,
  });
  return rows.length > 0;
}

async function readNewest(
  session: CassandraSession,
  incarnation: string,
): Promise<NewestSlot | undefined> {
  const { rows } = await session.execute(READ_NEWEST, [incarnation], {
    kind: 'read',
    operation: 'journal_read_newest',
    timeoutMs: STATEMENT_MS_MAX,
  });
  const [row] = rows;
  return row && { slot: Number(row['slot']), lowWaterMark: lowWaterMarkOf(row) };
}

/** From a slot below the newest on, whatever has become the newest by then: one consistent read. */
async function readNewestSlots(
  session: CassandraSession,
  incarnation: string,
): Promise<NewestSlots> {
  const newest = await readNewest(session, incarnation);
  if (newest === undefined) return { slots: [], lowWaterMark: 0 };
  const from = BigInt(newest.slot - NEWEST_SLOTS + 1);
  const { rows } = await session.execute(READ_NEWEST_SLOTS, [incarnation, from], {
    kind: 'read',
    operation: 'journal_read_newest_slots',
    timeoutMs: STATEMENT_MS_MAX,
  });
  const [row] = rows;
  if (row === undefined) return { slots: [], lowWaterMark: 0 };
  const slots = rows.filter(hasRecords).map((present) => Number(present['slot']));
  return { slots, lowWaterMark: lowWaterMarkOf(row) };
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

function appendStatement(append: Append): Statement {
  const { incarnation, slot, records, lowWaterMark, deleteBelow } = append;
  assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
  assert((deleteBelow ?? 0) <= lowWaterMark, 'what is needed is never deleted');
  const at = BigInt(slot);
  // A view, not a copy: the driver takes Buffers only.
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  const insert = [incarnation, at, BigInt(lowWaterMark), bytes, at + 1n];
  if (deleteBelow === undefined) return { query: APPEND, params: insert };
  const params = [...insert, at + 1n, incarnation, BigInt(deleteBelow)];
  return { query: APPEND_AND_TRUNCATE, params };
}

function refuseTooLarge({ records }: Append): void {
  if (records.byteLength <= GROUP_BYTES_MAX) return;
  const size = `${records.byteLength} bytes`;
  throw new Fault('internal', `a group of ${size} is over ${GROUP_BYTES_MAX}, the journal's bound`);
}

/** The begin was refused, which its node cannot use without the head: it has to look again. */
async function headAfterRefusal(
  steps: SealSteps,
  incarnation: string,
): Promise<JournalHead | undefined> {
  try {
    return await steps.readHead(incarnation, 'serial');
  } catch (cause) {
    throw new Fault('service_unavailable', 'the store does not say what stands there', {
      isOutcomeUnknown: true,
      cause,
    });
  }
}

/** Reads from the newest slot down, as they are stored, in pages of `pageSlots`. */
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
      // A copy: the driver's buffer would hold on to the whole page.
      slots.push({ slot: Number(slot), records: new Uint8Array(records) });
    }
    if (result.rows.length < pageSlots) break;
    end = Number(result.rows.at(-1)?.['slot'] ?? from);
  }
  return slots.reverse();
}

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
