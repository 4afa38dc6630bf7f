import assert from 'node:assert/strict';
import type { types } from 'cassandra-driver';
import { Fault } from '#fault/fault';
import { conditionalAnswerOf } from '#storage/cassandra/conditional-answer';
import type { CassandraSession, Statement } from '#storage/cassandra/session';
import type {
  Append,
  Conditional,
  JournalHead,
  JournalSlot,
  JournalStore,
} from '#storage/journal-store';

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

const BEGIN = `
  INSERT INTO journal (incarnation, address, next, low, sealed)
  VALUES (?, ?, 0, 0, false) IF NOT EXISTS`;

const APPEND = `
  BEGIN UNLOGGED BATCH
    UPDATE journal SET next = ? WHERE incarnation = ? IF next = ? AND sealed = false;
    INSERT INTO journal (incarnation, slot, records) VALUES (?, ?, ?);
  APPLY BATCH`;

const APPEND_AND_MOVE_LOW = `
  BEGIN UNLOGGED BATCH
    UPDATE journal SET next = ?, low = ? WHERE incarnation = ? IF next = ? AND sealed = false;
    INSERT INTO journal (incarnation, slot, records) VALUES (?, ?, ?);
    DELETE FROM journal WHERE incarnation = ? AND slot < ?;
  APPLY BATCH`;

const SEAL = 'UPDATE journal SET sealed = true WHERE incarnation = ? IF sealed = false';

// A conditional delete of a whole partition is refused (architecture 3.1).
const EMPTY = `
  BEGIN UNLOGGED BATCH
    DELETE address, next, low, sealed FROM journal WHERE incarnation = ? IF sealed = true;
    DELETE FROM journal WHERE incarnation = ? AND slot >= 0;
  APPLY BATCH`;

// DISTINCT: one row of statics, however many slots there are and were.
const READ_HEAD = `
  SELECT DISTINCT incarnation, address, next, low, sealed FROM journal WHERE incarnation = ?`;

const READ_SLOTS = `
  SELECT slot, records FROM journal WHERE incarnation = ? AND slot >= ? AND slot < ? LIMIT ?`;

const LIST = 'SELECT DISTINCT incarnation, sealed, WRITETIME(sealed) AS sealed_us FROM journal';

/**
 * Journals on Cassandra: one partition each, whose static columns are the head. Nothing is ever
 * written to one but under a condition, and no such write is ever repeated by itself. `session`
 * stays the caller's. Source: architecture 3.1.
 */
export function cassandraJournalStore(
  session: CassandraSession,
  pageSlots = PAGE_SLOTS,
): JournalStore {
  const readHead = async (
    incarnation: string,
    read: 'serial' | 'quorum',
  ): Promise<JournalHead | undefined> => {
    const result = await session.execute(READ_HEAD, [incarnation], {
      kind: read === 'serial' ? 'serial_read' : 'read',
      operation: 'journal_read_head',
      timeoutMs: STATEMENT_MS_MAX,
    });
    return headOf(result.rows[0]);
  };
  const write = async (
    operation: string,
    incarnation: string,
    { query, params }: Statement,
  ): Promise<Conditional> => {
    const options = { kind: 'conditional', operation, timeoutMs: STATEMENT_MS_MAX } as const;
    const answer = conditionalAnswerOf(await session.execute(query, params, options));
    if (answer.isApplied) return answer;
    if (answer.row === undefined) return { isApplied: false, head: undefined };
    // A refusal shows the columns of its condition; a head is more. What stands there by now is as
    // good: a seal is for good, and only the owner moves `next`.
    return { isApplied: false, head: await readAfterRefusal(readHead, incarnation) };
  };

  return {
    begin: (incarnation, address) =>
      write('journal_begin', incarnation, { query: BEGIN, params: [incarnation, address] }),
    async append(append) {
      refuseTooLarge(append);
      return write('journal_append', append.incarnation, appendStatement(append));
    },
    seal: (incarnation) =>
      write('journal_seal', incarnation, { query: SEAL, params: [incarnation] }),
    readHead,
    readSlots: (incarnation, from, to) => readSlots(session, incarnation, { from, to, pageSlots }),
    list: () => list(session),
    async empty(incarnation) {
      const sent = {
        kind: 'conditional',
        operation: 'journal_empty',
        timeoutMs: STATEMENT_MS_MAX,
      } as const;
      await session.execute(EMPTY, [incarnation, incarnation], sent);
    },
  };
}

function appendStatement({ incarnation, slot, records, lowWaterMark }: Append): Statement {
  const at = BigInt(slot);
  // A view, not a copy: the driver takes Buffers only.
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  const insert = [incarnation, at, bytes];
  if (lowWaterMark === undefined) {
    return { query: APPEND, params: [at + 1n, incarnation, at, ...insert] };
  }
  assert(lowWaterMark <= slot, 'the newest slot of a journal is never deleted');
  const below = BigInt(lowWaterMark);
  return {
    query: APPEND_AND_MOVE_LOW,
    params: [at + 1n, below, incarnation, at, ...insert, incarnation, below],
  };
}

function refuseTooLarge({ records }: Append): void {
  if (records.byteLength <= GROUP_BYTES_MAX) return;
  const size = `${records.byteLength} bytes`;
  throw new Fault('internal', `a group of ${size} is over ${GROUP_BYTES_MAX}, the journal's bound`);
}

/** The write was refused, which its writer cannot use without the head: it has to look again. */
async function readAfterRefusal(
  readHead: JournalStore['readHead'],
  incarnation: string,
): Promise<JournalHead | undefined> {
  try {
    return await readHead(incarnation, 'serial');
  } catch (cause) {
    throw new Fault('service_unavailable', 'the store does not say what stands there', {
      isOutcomeUnknown: true,
      cause,
    });
  }
}

function headOf(row: types.Row | undefined): JournalHead | undefined {
  const next: bigint | null | undefined = row?.['next'];
  if (row === undefined || next === null || next === undefined) return undefined;
  const address: string = row['address'];
  const isSealed: boolean = row['sealed'];
  return { address, next: Number(next), lowWaterMark: Number(row['low']), isSealed };
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
    for (const row of result.rows) {
      const slot: bigint = row['slot'];
      const records: Buffer = row['records'];
      // A copy: the driver's buffer would hold on to the whole page.
      slots.push({ slot: Number(slot), records: new Uint8Array(records) });
    }
    if (result.rows.length < pageSlots) break;
    end = slots.at(-1)?.slot ?? from;
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
      const sealedUs: bigint = row['sealed_us'] ?? 0n;
      const sealedAtMs = row['sealed'] === true ? Number(sealedUs / 1_000n) : undefined;
      journals.push({ incarnation, sealedAtMs });
    }
  }
  return journals;
}
