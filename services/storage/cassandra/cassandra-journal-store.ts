import {
  hasSeal,
  list,
  readEntry,
  readNewestSlot,
  readNewestSlots,
  readSlots,
} from '#storage/cassandra/cassandra-journal-reads';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, Statement } from '#storage/cassandra/session';
import { type HeadRead, journalStoreOf } from '#storage/journal-steps';
import type { Append, JournalStore } from '#storage/journal-store';

/** Slots of one page: as many as a caller asks for at once, which knows how large they are. */
const PAGE_SLOTS = 512;

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

const DECIDE_END = `
  UPDATE journals SET end_slot = ? WHERE incarnation = ? IF end_slot = null AND address != null`;

const DELETE_SLOTS = 'DELETE FROM journal USING TIMESTAMP ? WHERE incarnation = ?';

const DELETE_ENTRY = 'DELETE FROM journals WHERE incarnation = ? IF end_slot >= 0';

/**
 * Journals on Cassandra, in three tables with a way of writing each: `journals` only conditionally,
 * `seals` once, `journal` plainly with the slot as its timestamp. `session` stays the caller's.
 * Source: decision 191.
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

/** What is written conditionally, and read of it. */
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
